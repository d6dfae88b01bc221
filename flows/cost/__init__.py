"""What a run will cost, before it begins: memory, time, and how many records are attacked."""
