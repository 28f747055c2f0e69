/* The program whose start-up is measured. */
int main(void) { return 0; }
