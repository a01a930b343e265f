export { PolicyThread, type PolicyThreadOptions } from './policy-thread.ts'
