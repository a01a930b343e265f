export { WorkerEngine, type WorkerEngineOptions } from './policy-thread.ts'
export { createPolicyWorkers, PolicyWorkers } from './policy-threads.ts'
