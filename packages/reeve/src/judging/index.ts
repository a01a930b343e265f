export { PolicyThread, type PolicyThreadOptions } from './policy-thread.ts'
export { openPolicyThreads, PolicyThreads } from './policy-threads.ts'
