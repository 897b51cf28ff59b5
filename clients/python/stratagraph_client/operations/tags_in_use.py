from .base_model import BaseModel
from .fragments import LabelFields


class TagsInUseData(BaseModel):
    tagsInUse: "LabelFields"
