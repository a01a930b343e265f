import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { CgroupLayout } from './cgroup-plan.ts'

const REQUIRED_CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids']

/**
 * Makes the directories that the groups of tasks go into and hands the controllers down to them.
 * Tells the layout as it then is: a controller that cannot be had is left out.
 */
export async function prepareParentCgroups(layout: CgroupLayout): Promise<CgroupLayout> {
  for (const [controller, dir] of Object.entries(layout.v1)) {
    await mkdir(dir, { recursive: true }).catch(() => undefined)
    if (controller === 'cpuset') await inheritCpuset(dir)
  }
  const { v2 } = layout
  if (v2 === undefined) return layout
  await mkdir(v2.dir, { recursive: true }).catch(() => undefined)
  const controllers: string[] = []
  for (const controller of v2.controllers.filter((name) => REQUIRED_CONTROLLERS.includes(name))) {
    // The one above first: a group has only what its parent hands down.
    const isDelegated =
      (await delegateController(dirname(v2.dir), controller)) &&
      (await delegateController(v2.dir, controller))
    if (isDelegated) controllers.push(controller)
  }
  return { ...layout, v2: { ...v2, controllers } }
}

async function delegateController(dir: string, controller: string): Promise<boolean> {
  try {
    await writeFile(join(dir, 'cgroup.subtree_control'), `+${controller}`)
    return true
  } catch {
    // EBUSY: processes sit in this very group; ENOENT: the hierarchy is another one.
    return false
  }
}

/** A v1 group without cores or memory nodes takes no process: it gets those of its parent. */
async function inheritCpuset(dir: string): Promise<void> {
  for (const name of ['cpuset.cpus', 'cpuset.mems']) {
    try {
      const value = (await readFile(join(dir, name), 'utf8')).trim()
      if (value === '') await writeFile(join(dir, name), await readFile(join(dirname(dir), name)))
      await writeFile(join(dir, 'cgroup.clone_children'), '1')
    } catch {
      // A machine that does not let us leaves tasks on all cores; the start says so.
    }
  }
}
