"""Models converted between opset versions, up and down."""
