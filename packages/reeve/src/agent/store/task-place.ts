import { Fault } from '@reeve/kit/fault.ts'
import type { TaskIsolation } from '../driver.ts'
import { partsBelow } from './beneath.ts'
import type { TaskPaths } from './workspace.ts'

/** Something below a directory that the agent owns. */
export interface PlaceBelow {
  readonly root: string
  readonly parts: readonly string[]
}

/**
 * Where a path that a job names is on this machine: in the task's own directory, or in the one that
 * tasks share. A path may be relative, or as the task sees it. Fault `task-invalid` when it leads
 * out.
 */
export function placeInTask(
  text: string,
  { paths, isolation }: { readonly paths: TaskPaths; readonly isolation: TaskIsolation },
): PlaceBelow {
  for (const [seen, root] of seenDirectories(paths, isolation)) {
    if (text !== seen && !text.startsWith(`${seen}/`)) continue
    return { root, parts: below(text, text.slice(seen.length)) }
  }
  return { root: paths.taskDir, parts: below(text, text) }
}

/** Whether a path begins with a directory as the task sees it. */
export function isSeenByTask(
  text: string,
  { paths, isolation }: { readonly paths: TaskPaths; readonly isolation: TaskIsolation },
): boolean {
  const seen = seenDirectories(paths, isolation).map(([directory]) => directory)
  const own = isolation === 'none' ? [] : OWN_DIRECTORIES
  return [...seen, ...own].some((directory) => text.startsWith(`${directory}/`))
}

/** In the task's own directory, which is the root of a task that is isolated. */
const OWN_DIRECTORIES = ['/local', '/secrets'] as const

function seenDirectories(
  paths: TaskPaths,
  isolation: TaskIsolation,
): readonly (readonly [string, string])[] {
  const onHost = [
    [paths.allocDir, paths.allocDir],
    [paths.taskDir, paths.taskDir],
  ] as const
  return isolation === 'none' ? onHost : [...onHost, ['/alloc', paths.allocDir]]
}

function below(text: string, rest: string): readonly string[] {
  const parts = partsBelow(rest)
  if (parts !== undefined) return parts
  throw new Fault('task-invalid', `${JSON.stringify(text)} leads out of the task's directory`)
}
