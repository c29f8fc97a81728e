int another_symbol;
