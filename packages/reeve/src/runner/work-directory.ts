import { access, mkdir, writeFile } from 'node:fs/promises'
import { isAbsolute, join, normalize } from 'node:path'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { v2 } from '@reeve/contract'
import { readTar, unpack, UnpackBudget } from '../agent/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { BACKEND_OVERRIDE, OVERRIDE_FILE } from './tool-files.ts'

const PRIVATE = { mode: 0o600 }

/** Unpacks the configuration and returns the directory of the root module. */
export async function unpackConfiguration(
  archive: Uint8Array,
  directory: string,
  workingDirectory: string | null,
): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const tar = Readable.from([archive]).pipe(createGunzip())
  await unpack(readTar(tar), directory, { budget: new UnpackBudget(archive.length) })
  const root = rootModule(directory, workingDirectory)
  await access(root).catch((cause: unknown) => {
    const message = `The configuration has no directory ${workingDirectory ?? '.'}`
    throw new Fault('no-directory', message, { cause })
  })
  await writeFile(join(root, OVERRIDE_FILE), BACKEND_OVERRIDE, PRIVATE)
  return root
}

function rootModule(directory: string, workingDirectory: string | null): string {
  const path = normalize(workingDirectory ?? '.')
  if (isAbsolute(path) || path.split('/').includes('..'))
    throw new Fault('no-directory', `The working directory ${path} leaves the configuration`)
  return join(directory, path)
}

/**
 * Writes the values of input variables to files that override the configuration, and returns the
 * arguments that name them.
 */
export async function writeVariables(
  variables: readonly v2.PhaseVariable[],
  directory: string,
): Promise<readonly string[]> {
  const inputs = variables.filter(({ category }) => category === 'input')
  const literals = inputs.filter(({ hcl }) => !hcl)
  const expressions = inputs.filter(({ hcl }) => hcl)
  const files: string[] = []
  const write = async (name: string, content: string): Promise<void> => {
    const path = join(directory, name)
    await writeFile(path, content, PRIVATE)
    files.push(`-var-file=${path}`)
  }
  if (literals.length > 0)
    await write(
      'reeve.tfvars.json',
      JSON.stringify(Object.fromEntries(literals.map(({ key, value }) => [key, value]))),
    )
  if (expressions.length > 0)
    await write('reeve.tfvars', expressions.map(({ key, value }) => `${key} = ${value}\n`).join(''))
  return files
}
