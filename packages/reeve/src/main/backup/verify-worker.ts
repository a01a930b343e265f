import { parentPort, workerData } from 'node:worker_threads'
import { errorMessage } from '@reeve/kit/fault.ts'
import { restoreIntoMemory, type VerifyMessage } from './verify-backup.ts'

// Thread of verifyBackup. Its memory is freed when it ends.
const message: VerifyMessage = await restoreIntoMemory(String(workerData)).catch(
  (thrown: unknown) => ({ problem: errorMessage(thrown) }),
)
parentPort?.postMessage(message, [])
