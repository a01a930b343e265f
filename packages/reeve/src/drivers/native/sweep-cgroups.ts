import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { CgroupLayout } from './cgroup-plan.ts'
import type { Launcher } from './launcher.ts'

/** How long what is in a left group may take to disappear after SIGKILL. */
const KILL_CGROUP_TIMEOUT_MS = 5_000

/** Stands for a process of which nothing is known: only the group is killed. */
const NO_PROCESS = {
  shimPid: 0,
  shimStartTime: 0,
  pid: 0,
  startTime: 0,
  taskPid: 0,
  taskStartTime: 0,
} as const

/** Ends whatever is in the groups that are left, and removes them. */
export async function killAndRemoveCgroups(
  launcher: Launcher,
  layout: CgroupLayout,
  shouldKill: (name: string) => boolean,
): Promise<void> {
  const paths = await findCgroups(layout, shouldKill)
  for (const killCgroup of paths) {
    const request = { ...NO_PROCESS, killCgroup, timeoutMs: KILL_CGROUP_TIMEOUT_MS }
    await launcher.request('killTree', request, 3 * KILL_CGROUP_TIMEOUT_MS)
  }
  if (paths.length > 0) await launcher.request('removeCgroups', { paths })
}

/** The groups with such names, in all hierarchies. */
export async function findCgroups(
  layout: CgroupLayout,
  matches: (name: string) => boolean,
): Promise<readonly string[]> {
  const dirs = new Set([layout.v2?.dir ?? [], Object.values(layout.v1)].flat())
  const paths: string[] = []
  for (const dir of dirs) {
    // A hierarchy in which nothing was ever made has no directory of ours.
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
    const matching = entries.filter((entry) => entry.isDirectory() && matches(entry.name))
    paths.push(...matching.map(({ name }) => join(dir, name)))
  }
  return paths
}
