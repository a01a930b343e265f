import { LIMITS } from '../../model/index.ts'
import { SHARED } from '../store/workspace.ts'

/**
 * Whether a task's name can be a directory beside the shared one, and part of file names. Names
 * with a dot in front are the agent's own.
 */
export function isDirectoryName(name: string): boolean {
  const bytes = Buffer.byteLength(name)
  return (
    bytes > 0 &&
    bytes <= LIMITS.taskNameBytesMax &&
    !/[/\0]/.test(name) &&
    !name.startsWith('.') &&
    name !== SHARED
  )
}
