import { readdir, readFile } from 'node:fs/promises'

/** A process and all that came from it, the parents first. */
export async function processesUnder(root: number): Promise<readonly number[]> {
  const children = new Map<number, number[]>()
  for (const name of await readdir('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    // One may end while we look.
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
    // proc(5): the 4th field, counted from behind the name, which may hold spaces.
    const parent = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  const found = [root]
  for (const pid of found) found.push(...(children.get(pid) ?? []))
  return found
}
