from .base_model import BaseModel
from .fragments import LabelFields


class TagsInUse(BaseModel):
    tagsInUse: "TagsInUseTagsInUse"


TagsInUseTagsInUse = LabelFields
