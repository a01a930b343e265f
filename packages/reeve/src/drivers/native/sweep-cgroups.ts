import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { CgroupLayout } from './cgroup-plan.ts'
import type { Launcher } from './launcher.ts'

/** How long what is in a left group may take to disappear after SIGKILL. */
const GONE_MS_MAX = 5_000

/** Stands for a process of which nothing is known: only the group is killed. */
const NOBODY = {
  shimPid: 0,
  shimStartTime: 0,
  pid: 0,
  startTime: 0,
  taskPid: 0,
  taskStartTime: 0,
} as const

/** Ends whatever is in the groups that are left, and removes them. */
export async function sweepCgroups(
  launcher: Launcher,
  layout: CgroupLayout,
  isLeft: (name: string) => boolean,
): Promise<void> {
  const paths = await findCgroups(layout, isLeft)
  for (const killCgroup of paths) {
    const request = { ...NOBODY, killCgroup, timeoutMs: GONE_MS_MAX }
    await launcher.ask('killTree', request, 3 * GONE_MS_MAX)
  }
  if (paths.length > 0) await launcher.ask('removeCgroups', { paths })
}

/** The groups with such names, in all hierarchies. */
export async function findCgroups(
  layout: CgroupLayout,
  isWanted: (name: string) => boolean,
): Promise<readonly string[]> {
  const dirs = new Set([layout.v2?.dir ?? [], Object.values(layout.v1)].flat())
  const paths: string[] = []
  for (const dir of dirs) {
    // A hierarchy in which nothing was ever made has no directory of ours.
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
    const found = entries.filter((entry) => entry.isDirectory() && isWanted(entry.name))
    paths.push(...found.map(({ name }) => join(dir, name)))
  }
  return paths
}
