export { WorkerEngine, type WorkerEngineOptions } from './worker-engine.ts'
export { createPolicyWorkers, PolicyWorkers } from './policy-workers.ts'
