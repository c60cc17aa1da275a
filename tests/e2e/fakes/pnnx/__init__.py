raise ImportError("the package needs PyTorch; its program does not")
