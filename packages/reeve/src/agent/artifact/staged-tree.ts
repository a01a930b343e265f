import { constants } from 'node:fs'
import {
  copyFile,
  lchown,
  lstat,
  readdir,
  readlink,
  rename,
  symlink,
  unlink,
} from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../kit/fault.ts'
import type { Beneath, Owner } from '../store/beneath.ts'
import { errorCode } from '../store/state-file.ts'
import { archiveFault, type UnpackBudget } from './unpack.ts'

/**
 * Looks through what another program made: files, directories and links that stay inside, and not
 * more of them than an archive might hold.
 */
export async function checkTree(root: string, budget: UnpackBudget, depth = 0): Promise<void> {
  for (const entry of await readdir(root, { withFileTypes: true })) {
    const path = join(root, entry.name)
    budget.addFile()
    if (entry.isDirectory()) await checkTree(path, budget, depth + 1)
    else if (entry.isFile()) budget.addBytes((await lstat(path)).size)
    else if (!entry.isSymbolicLink() || leadsOut(await readlink(path), depth)) {
      throw archiveFault(`${JSON.stringify(entry.name)} is not a file, or a link that leads out`)
    }
  }
}

function leadsOut(target: string, depth: number): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const at = parts.findIndex((part) => part !== '..')
  const ups = at < 0 ? parts.length : at
  return target.startsWith('/') || ups > depth || parts.slice(ups).includes('..')
}

/** Gives everything below to somebody. The tree is the agent's alone: nothing changes under it. */
export async function giveTree(root: string, owner: Owner): Promise<void> {
  for (const entry of await readdir(root, { withFileTypes: true })) {
    const path = join(root, entry.name)
    if (entry.isDirectory()) await giveTree(path, owner)
    await lchown(path, owner.uid, owner.gid)
  }
}

/**
 * Moves everything of a staged directory to its place. Directories that are there already are
 * joined, files are replaced; a link or a file in the place of a directory is a Fault.
 */
export async function mergeTree(
  from: string,
  to: Beneath,
  owner: Owner | undefined,
): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const path = join(from, entry.name)
    if (!entry.isDirectory()) {
      await moveFile(path, to, entry.name)
      continue
    }
    const inside = await to.directory([entry.name], { mode: 0o755, owner })
    try {
      await mergeTree(path, inside, owner)
    } finally {
      await inside.close()
    }
  }
}

/** Replaces what has the name, without following it. Works across file systems too. */
export async function moveFile(from: string, to: Beneath, name: string): Promise<void> {
  try {
    await rename(from, to.path(name))
  } catch (thrown) {
    if (errorCode(thrown) === 'EISDIR') {
      throw new Fault('task-artifact', `${JSON.stringify(name)} is a directory already`)
    }
    if (errorCode(thrown) !== 'EXDEV') throw thrown
    await copyOver(from, to, name)
  }
}

async function copyOver(from: string, to: Beneath, name: string): Promise<void> {
  const temporary = `.${name.slice(0, 64)}.reeve-new`
  const stat = await lstat(from)
  await unlink(to.path(temporary)).catch((thrown: unknown) => {
    if (errorCode(thrown) !== 'ENOENT') throw thrown
  })
  if (stat.isSymbolicLink()) await symlink(await readlink(from), to.path(temporary))
  else await copyFile(from, to.path(temporary), constants.COPYFILE_EXCL)
  await lchown(to.path(temporary), stat.uid, stat.gid)
  await rename(to.path(temporary), to.path(name))
}
