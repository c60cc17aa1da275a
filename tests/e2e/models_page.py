#!/usr/bin/env python3
"""The page of `pet-apply --report FILE.html`, looked at in headless Chromium at two widths. Exit status 0 or 1.

Three models: one whose rule corrects boxes, one with names that are HTML and a site within an If, and GoogLeNet as torch exports
it. Nothing overlaps, both graphs are drawn whole, a click on a site or a node shows what the rule did there and where it corrects
the output, as the report says it, and a page is below 2 MB. What --report FILE.json writes is what the page embeds. GoogLeNet's
summary fits a screen, and its report is small. With --screenshot FILE the first page is kept as an image, for docs.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By

from pack import BIN, SOURCE, made

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402

WIDTHS = [1400, 600]
MOST_BYTES = 2_000_000
MOST_REPORT_BYTES = 20_000
SCREEN, COLUMNS = 24, 80  # of a terminal
NOT_FOR_DEPLOYERS = re.compile(r"\b(anchor|fate|opaque|mutant)", re.I)
HOSTILE = "</script><script>document.title = 'hostile'</script><b>relu</b>"
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail != "" else name)


def model(name, nodes, weights, folder, batch=2):
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 8, 14, 14])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, key) for key, value in weights.items()])
    path = folder / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def weight(*extents):
    return np.random.default_rng(0).uniform(-1, 1, extents).astype(np.float32)


def corrected(folder):
    """Two sites of a Conv on two images, which are wrong at the seam when they are side by side."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], "conv1", pads=[1] * 4),
             helper.make_node("Softmax", ["a"], ["b"], "softmax", axis=3),  # no layout passes it: two changes
             helper.make_node("Conv", ["b", "w"], ["y"], "conv2", pads=[1] * 4)]
    return model("corrected", nodes, {"w": weight(8, 8, 3, 3)}, folder)


def hostile(folder):
    """A site within an If, behind a node whose name is HTML."""
    def branch(name, nodes):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)])

    then = branch("then", [helper.make_node("Conv", ["r", "w"], ["then_y"], "inner", pads=[1] * 4)])
    other = branch("else", [helper.make_node("Neg", ["r"], ["else_y"], "negated")])
    nodes = [helper.make_node("Relu", ["x"], ["r"], HOSTILE), helper.make_node("ReduceSum", ["x"], ["s"], "sum", keepdims=0),
             helper.make_node("Greater", ["s", "zero"], ["c"], "positive"),
             helper.make_node("If", ["c"], ["y"], "if1", then_branch=then, else_branch=other)]
    return model("hostile", nodes, {"w": weight(8, 8, 3, 3), "zero": np.array(0, np.float32)}, folder)


def apply(path, pack, *options):
    """What is said."""
    done = subprocess.run([BIN / "pet-apply", path, pack, "-o", path.with_suffix(".out"), *options], capture_output=True, text=True, timeout=300)
    expect(f"{path.stem}: exit code", done.returncode == 0, done.stderr)
    return done.stdout


def page_of(path, pack, *options):
    """The page and the report of a run."""
    page, report = path.with_suffix(".html"), path.with_suffix(".json")
    apply(path, pack, "--report", page, "--json", report, *options)
    expect(f"{path.stem}: size", page.stat().st_size < MOST_BYTES, page.stat().st_size)
    check_data(path, page, pack, *options)
    return page, json.loads(report.read_text())


def check_data(path, page, pack, *options):
    """The same run once more, as data: but for its times it is what the page embeds."""
    def timeless(text):
        data = json.loads(text)
        data["figures"] = [figure for figure in data["figures"] if not figure[0].endswith(" s")]
        return data

    written = path.with_suffix(".data.json")
    apply(path, pack, "--report", written, *options)
    embedded = re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1]
    expect(f"{path.stem}: data", timeless(written.read_text()) == timeless(embedded))


class Browser:
    def __init__(self):
        options = webdriver.ChromeOptions()
        for option in ["--headless=new", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1"]:
            options.add_argument(option)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))

    def open(self, page, width):
        self.driver.set_window_size(width, 1900)
        self.driver.get(page.as_uri())

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def complaints(self):
        return [line["message"] for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]


def overlapping(rectangles):
    """Pairs of (left, top, right, bottom) that have an area in common."""
    rectangles = sorted(rectangles)
    found = []
    for i, a in enumerate(rectangles):
        for b in rectangles[i + 1:]:
            if b[0] >= a[2] - 0.5:
                break
            if min(a[3], b[3]) - max(a[1], b[1]) > 0.5:
                found.append((a, b))
    return found


NODES = """return [...document.querySelectorAll(arguments[0] + ' .node rect')].map((rect) => {
  const box = rect.getBBox();
  return [box.x, box.y, box.x + box.width, box.y + box.height];
});"""
#: Texts that are wider than the box of their node.
SPILLED = """return [...document.querySelectorAll(arguments[0] + ' .node')].flatMap((node) => {
  const box = node.querySelector('rect').getBBox();
  return [...node.querySelectorAll('text')].filter((text) => {
    const its = text.getBBox();
    return its.width && (its.x < box.x || its.x + its.width > box.x + box.width);
  }).map((text) => text.textContent);
});"""
FRAMES = """return [...document.querySelectorAll(arguments[0])].filter((e) => e.getClientRects().length).map((element) => {
  const frame = element.getBoundingClientRect();
  return [frame.left, frame.top, frame.right, frame.bottom];
});"""


def check_layout(name, browser):
    width = browser.run("return window.innerWidth")
    expect(f"{name}: nothing to scroll sideways", browser.run("return document.documentElement.scrollWidth") <= width)
    for selector in ["header, main > section", ".pane"]:
        frames = browser.run(FRAMES, selector)
        expect(f"{name}: {selector} overlap", not overlapping(frames), overlapping(frames)[:1])
    for pane in ["#before", "#after"]:
        rectangles = browser.run(NODES, pane)
        expect(f"{name}: nodes are drawn {pane}", rectangles)
        expect(f"{name}: nodes overlap {pane}", not overlapping(rectangles), overlapping(rectangles)[:1])
        spilled = browser.run(SPILLED, pane)
        expect(f"{name}: texts within their nodes {pane}", not spilled, spilled[:3])


def within(inner, outer):
    return outer[0] - 1 <= inner[0] and outer[1] - 1 <= inner[1] and inner[2] <= outer[2] + 1 and inner[3] <= outer[3] + 1


def check_chosen(name, browser, site, rule):
    """What was chosen is shown: in words, and both graphs are moved to it."""
    detail = browser.text("#detail")
    expect(f"{name}: detail", site in detail and rule in detail, detail)
    expect(f"{name}: statement", f"rule {rule} of" in browser.text("#detail pre"))
    for pane in ["#before", "#after"]:
        chosen, frame = browser.run(FRAMES, f"{pane} .chosen rect"), browser.run(FRAMES, pane)[0]
        expect(f"{name}: {pane} shows it", chosen and all(within(c, frame) for c in chosen), chosen)


def check_detail(name, browser, fired, proof):
    """Of the only site that is chosen; `fired`: what the report says of it."""
    shown = dict(zip([e.text for e in browser.all("#detail dt")], [e.text for e in browser.all("#detail dd")]))
    wanted = {"Site": fired["site"], "Rule": fired["rule"], "Shapes": " ".join(f"{k}={v}" for k, v in fired["shapes"].items()),
              "Expected gain": "not known" if fired["gain"] is None else f"{fired['gain']:.2f}", "Proof": f"proved for every shape of its class{proof}",
              "Numerics": fired["numerics"]}
    expect(f"{name}: detail", shown == wanted and shown["Shapes"], (shown, wanted))
    boxes = len(browser.all("#detail div > p.empty"))
    expect(f"{name}: as many boxes", boxes == fired["boxes"], (boxes, fired["boxes"]))
    if boxes:
        check_boxes(name, browser)


def check_tables(name, browser, report):
    """The refusals are those of the report; nothing speaks to the authors of rules but the text of a rule."""
    shown = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")][:3] for row in browser.all("#refused tbody tr")]
    wanted = [[str(r["count"]), r["says"], r["option"]] for r in report["refused"]]
    expect(f"{name}: refusals", shown == wanted, (shown, wanted))
    sites = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")][:2] for row in browser.all("#sites tbody tr")]
    expect(f"{name}: sites", sites == [[f["site"], f["rule"]] for f in report["fired"]], sites)
    text = browser.run("const page = document.body.cloneNode(true); page.querySelectorAll('pre, script').forEach((e) => e.remove()); return page.textContent")
    expect(f"{name}: words", not NOT_FOR_DEPLOYERS.search(text), NOT_FOR_DEPLOYERS.search(text))


def click_row(browser, i):
    row = browser.all("#sites tbody tr")[i]
    browser.run("arguments[0].scrollIntoView({block: 'center'})", row)
    row.click()


def check_boxes(name, browser):
    fields, boxes = browser.run(FRAMES, ".map .field"), browser.run(FRAMES, ".map .box")
    expect(f"{name}: boxes", boxes and all(b[2] - b[0] >= 2 and b[3] - b[1] >= 2 and any(within(b, f) for f in fields) for b in boxes), boxes)


def check_corrected(page, report, browser, screenshot):
    rule = "conv/n.in2-outer1_conv"
    for width in WIDTHS:
        name = f"corrected at {width}"
        browser.open(page, width)
        check_layout(name, browser)
        check_tables(name, browser, report)
        check_chosen(name, browser, "conv1", rule)
        check_boxes(name, browser)
        check_detail(name, browser, report["fired"][0], "; the record was checked")
        if screenshot and width == WIDTHS[0]:
            browser.driver.save_screenshot(str(screenshot))
        check_colours(name, browser)
        check_hands(name, browser)
        rows = browser.all("#sites tbody tr")
        expect(f"{name}: sites", len(rows) == 2, len(rows))
        click_row(browser, 1)
        check_chosen(f"{name}, row", browser, "conv2", rule)
        check_detail(f"{name}, row", browser, report["fired"][1], "; the record was checked")
        click_row(browser, 0)
        before = browser.run("return document.querySelector('#before g').getAttribute('transform')")
        browser.all(".pane .zoom button")[1].click()
        expect(f"{name}: zoom", browser.run("return document.querySelector('#before g').getAttribute('transform')") != before)
        browser.all(".pane .zoom button")[2].click()
        node = browser.all("#before .changed")[-1]
        ActionChains(browser.driver).move_to_element(node).click().perform()
        check_chosen(f"{name}, node", browser, "conv2", rule)


COLOURS = """return [...document.querySelectorAll(arguments[0])].map((e) => getComputedStyle(e)[arguments[1]]);"""


def check_colours(name, browser):
    """A site has one colour in the list and in both graphs, another one than its neighbour; other nodes have none."""
    dots = browser.run(COLOURS, "#sites .dot", "backgroundColor")
    expect(f"{name}: colours of sites", len(set(dots)) == len(dots) == 2, dots)
    for pane in ["#before", "#after"]:
        changed = browser.run(COLOURS, f"{pane} .changed rect", "stroke")
        expect(f"{name}: colours {pane}", set(changed) == set(dots), (changed, dots))
        others = browser.run(COLOURS, f"{pane} .node:not(.changed) rect", "stroke")
        expect(f"{name}: nodes without a site {pane}", others and not set(others) & set(dots), others)


def transform(browser):
    """x, y and the scale of the first graph."""
    return [float(n) for n in re.findall(r"-?\d[\d.]*(?:e-?\d+)?", browser.run("return document.querySelector('#before g').getAttribute('transform')"))]


def check_hands(name, browser):
    """The wheel zooms about the pointer, a drag moves, and neither chooses a site."""
    svg, detail = browser.driver.find_element(By.ID, "before"), browser.text("#detail")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", svg)
    x, y, scale = transform(browser)
    ActionChains(browser.driver).scroll_from_origin(ScrollOrigin.from_element(svg), 0, -200).perform()
    zoomed = transform(browser)
    middle = [size / 2 for size in browser.run("return [arguments[0].clientWidth, arguments[0].clientHeight]", svg)]
    stays = [abs((m - old) / scale - (m - new) / zoomed[2]) for m, old, new in zip(middle, (x, y), zoomed)]
    expect(f"{name}: wheel", zoomed[2] > 1.2 * scale and max(stays) < 3, ((x, y, scale), zoomed, stays))
    ActionChains(browser.driver).move_to_element(svg).click_and_hold().move_by_offset(40, -30).release().perform()
    moved = transform(browser)
    expect(f"{name}: drag", moved[2] == zoomed[2] and abs(moved[0] - zoomed[0] - 40) < 2 and abs(moved[1] - zoomed[1] + 30) < 2, (zoomed, moved))
    expect(f"{name}: a drag chooses nothing", browser.text("#detail") == detail)


DRY = " (dry run: the record was not checked again)"


def check_hostile(page, report, browser):
    for width in WIDTHS:
        name = f"hostile at {width}"
        browser.open(page, width)
        expect(f"{name}: title", browser.driver.title == "hostile.onnx", browser.driver.title)
        expect(f"{name}: no elements of the model's", not browser.all("b:not(#figures b)"))
        expect(f"{name}: graphs", browser.text("#places option:nth-child(2)") == "if1/then_branch/", browser.text("#places"))
        check_chosen(name, browser, "if1/then_branch/inner", "conv/n.in2-outer1_conv")
        check_detail(name, browser, report["fired"][0], DRY)
        check_boxes(name, browser)
        check_tables(name, browser, report)
        browser.run("const s = document.getElementById('places'); s.value = 0; s.dispatchEvent(new Event('change'))")
        expect(f"{name}: main graph", HOSTILE in browser.run("return document.querySelector('#before').textContent"))
        check_layout(name, browser)
        click_row(browser, 0)
        check_chosen(f"{name}, row", browser, "if1/then_branch/inner", "conv/n.in2-outer1_conv")


def check_large(page, report, browser):
    fired = report["fired"]
    boxed = next((i for i, f in enumerate(fired) if f["boxes"]), None)
    expect("googlenet: a rule that corrects boxes", boxed is not None)
    for width in WIDTHS:
        name = f"googlenet at {width}"
        browser.open(page, width)
        check_layout(name, browser)
        check_tables(name, browser, report)
        expect(f"{name}: sites", len(fired) > 20 and report["refused"], browser.text("#headline"))
        expect(f"{name}: count", browser.text(".pane .count").startswith("139 nodes"), browser.text(".pane .count"))
        for i in {len(fired) // 2, len(fired) - 1, boxed or 0}:
            click_row(browser, i)
            check_chosen(f"{name}, row {i}", browser, fired[i]["site"], fired[i]["rule"])
            if len(browser.all("#detail dl")) == 1:  # layouts of several may have been joined
                check_detail(f"{name}, row {i}", browser, fired[i], DRY)


def check_size(path, pack):
    """Of what is said by default: refusals are counted by reason, and listed on request."""
    for options in [[], ["--all"]]:
        report = path.with_suffix(".default.json")
        said = apply(path, pack, "--dry-run", "--json", report, *options)
        expect(f"googlenet {options}: a screen", sum(max(1, -(-len(line) // COLUMNS)) for line in said.splitlines()) <= SCREEN, said)
        expect(f"googlenet {options}: refusals", "refusals" not in json.loads(report.read_text()))
        apply(path, pack, "--dry-run", "--verbose", "--json", path.with_suffix(".verbose.json"), *options)
        listed = json.loads(path.with_suffix(".verbose.json").read_text())
        expect(f"googlenet {options}: --verbose", len(listed["refusals"]) == sum(r["count"] for r in listed["refused"]) > 100)
        if not options:
            expect("googlenet: size", report.stat().st_size < MOST_REPORT_BYTES, report.stat().st_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--screenshot", type=pathlib.Path)
    screenshot = parser.parse_args().screenshot
    pack = made()
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            check_corrected(*page_of(corrected(folder), pack, "--only", "conv/n.in2-outer1_conv", "--all"), browser, screenshot)
            check_hostile(*page_of(hostile(folder), pack, "--only", "conv/n.in2-outer1_conv", "--all", "--dry-run"), browser)
            googlenet = build.build("googlenet-dynamo", folder)
            check_size(googlenet, pack)
            check_large(*page_of(googlenet, pack, "--all", "--dry-run"), browser)
            complaints = browser.complaints()
            expect("no complaints", not complaints, complaints)
    finally:
        browser.driver.quit()
    print("\n".join(failures) or "the page of three models, at two widths: ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
