import { open, readFile, rm } from 'node:fs/promises'
import { isMissing, type HostUser, type TaskHandle } from '../../agent/index.ts'

/** What a further command beside the task needs to know about how the task was started. */
export interface LaunchRecord {
  readonly env: Readonly<Record<string, string>>
  readonly taskDir: string
  readonly cwd: string
  /** Undefined: the user of the agent. */
  readonly user: HostUser | undefined
}

/**
 * Kept beside the directory of the shim's records and not in it: that belongs to the task's user,
 * who must not be able to say as whom the agent runs commands.
 */
function launchRecordPath(handle: TaskHandle): string {
  return `${handle.dir}.launch`
}

export async function saveLaunchRecord(handle: TaskHandle, launch: LaunchRecord): Promise<void> {
  const file = await open(launchRecordPath(handle), 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(launch))
  } finally {
    await file.close()
  }
}

/** Undefined when the task was started by an agent that saved none. */
export async function loadLaunchRecord(handle: TaskHandle): Promise<LaunchRecord | undefined> {
  try {
    // Written by saveLaunchRecord, in a directory that only the agent's user can write to.
    return JSON.parse(await readFile(launchRecordPath(handle), 'utf8')) as LaunchRecord
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

export async function removeLaunchRecord(handle: TaskHandle): Promise<void> {
  await rm(launchRecordPath(handle), { force: true })
}
