/**
 * `node tools/start.cjs …`: what `bin/reeve` runs, without setting anything up first. Tests start
 * the program by it: they must not build what somebody changes beside them.
 */
void require('./setup/launch.cjs').load()
