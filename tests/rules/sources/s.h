struct s {
	char __cacheline_group_begin__s_write_tx[0];
	int sent;
	char __cacheline_group_end__s_write_tx[0];
	char __cacheline_group_begin__s_read_rx[0];
	int seen;
	char __cacheline_group_end__s_read_rx[0];
	char name[16];
};
