import { Fault } from '@reeve/kit/fault.ts'
import type { TaskIsolation } from '../driver.ts'
import { containedPathParts } from './beneath.ts'
import type { TaskPaths } from './workspace.ts'

/** A path below a directory that the agent owns. */
export interface ContainedPath {
  readonly root: string
  readonly parts: readonly string[]
}

/**
 * Resolves a path of a job to the task's own directory or the shared one. The path may be relative,
 * or in the task's view. Fault `task-invalid` if it leads out.
 */
export function resolveTaskPath(
  path: string,
  { paths, isolation }: { readonly paths: TaskPaths; readonly isolation: TaskIsolation },
): ContainedPath {
  for (const [prefix, root] of visibleDirectories(paths, isolation)) {
    if (path !== prefix && !path.startsWith(`${prefix}/`)) continue
    return { root, parts: requireContainedParts(path, path.slice(prefix.length)) }
  }
  return { root: paths.taskDir, parts: requireContainedParts(path, path) }
}

/** Whether a path begins with a directory that the task can see. */
export function isTaskVisiblePath(
  path: string,
  { paths, isolation }: { readonly paths: TaskPaths; readonly isolation: TaskIsolation },
): boolean {
  const visible = visibleDirectories(paths, isolation).map(([directory]) => directory)
  const taskDirectories = isolation === 'none' ? [] : ISOLATED_TASK_DIRECTORIES
  return [...visible, ...taskDirectories].some((directory) => path.startsWith(`${directory}/`))
}

/** Directories of an isolated task's root. */
const ISOLATED_TASK_DIRECTORIES = ['/local', '/secrets'] as const

function visibleDirectories(
  paths: TaskPaths,
  isolation: TaskIsolation,
): readonly (readonly [string, string])[] {
  const onHost = [
    [paths.allocDir, paths.allocDir],
    [paths.taskDir, paths.taskDir],
  ] as const
  return isolation === 'none' ? onHost : [...onHost, ['/alloc', paths.allocDir]]
}

function requireContainedParts(path: string, relativePath: string): readonly string[] {
  const parts = containedPathParts(relativePath)
  if (parts !== undefined) return parts
  throw new Fault('task-invalid', `${JSON.stringify(path)} leads out of the task's directory`)
}
