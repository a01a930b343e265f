export { WorkerEngine } from './worker-engine.ts'
export { createPolicyWorkers, PolicyWorkers } from './policy-workers.ts'
