export { runPhase } from './run-phase.ts'
