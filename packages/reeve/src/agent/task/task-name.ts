import { LIMITS } from '../../model/index.ts'
import { SHARED_DIR } from '../store/workspace.ts'

/**
 * Whether a task's name is valid as a directory beside the shared one, and in file names. Names
 * with a leading dot are reserved for the agent.
 */
export function isValidTaskDirectoryName(name: string): boolean {
  const bytes = Buffer.byteLength(name)
  return (
    bytes > 0 &&
    bytes <= LIMITS.taskNameBytesMax &&
    !/[/\0]/.test(name) &&
    !name.startsWith('.') &&
    name !== SHARED_DIR
  )
}
