from .base_model import BaseModel
from .fragments import (  # noqa: F401
    ItemFields,
)


class GetItemsResult(BaseModel):
    item0: "GetItemsItem0"
    item1: "GetItemsItem1"
    item2: "GetItemsItem2"
    item3: "GetItemsItem3"
    item4: "GetItemsItem4"
    item5: "GetItemsItem5"
    item6: "GetItemsItem6"
    item7: "GetItemsItem7"
    item8: "GetItemsItem8"
    item9: "GetItemsItem9"


class GetItemsItem0(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem1(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem2(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem3(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem4(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem5(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem6(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem7(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem8(BaseModel):
    nodes: list["ItemFields"]


class GetItemsItem9(BaseModel):
    nodes: list["ItemFields"]
