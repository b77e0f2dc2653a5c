"""GroupByKeyAndWindow in columns: windows, triggers, accumulators, panes."""
