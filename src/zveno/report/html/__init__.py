"""Reports as one offline HTML page: verdict, numbers, plots, tables and a robot that can be turned."""
