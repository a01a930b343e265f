import { parentPort, workerData } from 'node:worker_threads'
import { errorMessage } from '@reeve/kit/fault.ts'
import { restoreIntoMemory, type VerifyMessage } from './verify-backup.ts'

// The thread of verifyBackup: what it loads goes with it.
const message: VerifyMessage = await restoreIntoMemory(String(workerData)).catch(
  (thrown: unknown) => ({ problem: errorMessage(thrown) }),
)
parentPort?.postMessage(message, [])
