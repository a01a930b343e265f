export { CheckpointLoop } from './checkpoint-loop.ts'
export { EvaluationLoop } from './evaluation-loop.ts'
export { ExpiryLoop } from './expiry-loop.ts'
export { HEARTBEAT_MS, Presence } from './presence.ts'
