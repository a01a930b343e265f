import { execFile } from 'node:child_process'
import { access, constants, realpath } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { toolAttribute, TOOLS, VERSION_FIELD } from '../infrastructure/index.ts'

const VERSION_MS_MAX = 20_000

type Attributes = Readonly<Record<string, string>>

/** Found once: the tools are started to ask them. */
let found: Promise<Attributes> | undefined

/** Attributes of the node: the tools that it has, and how this program is started on it. */
export function infrastructureAttributes(): Promise<Attributes> {
  return (found ??= findAttributes())
}

async function findAttributes(): Promise<Attributes> {
  const tools = await Promise.all(TOOLS.map(toolAttributes))
  return {
    'infrastructure.runtime': process.execPath,
    'infrastructure.program': resolve(process.argv[1] ?? ''),
    ...Object.assign({}, ...tools),
  }
}

async function toolAttributes(tool: string): Promise<Attributes> {
  const path = await findProgram(tool)
  if (path === undefined) return {}
  const version = await versionOf(path)
  if (version === undefined) return {}
  return { [toolAttribute(tool)]: version, [`infrastructure.${tool}.path`]: path }
}

/** The first program of this name on the path. */
async function findProgram(name: string): Promise<string | undefined> {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    if (directory === '') continue
    const path = join(directory, name)
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isProgram) return await realpath(path)
  }
  return undefined
}

/** Undefined where the program does not say: it is another one of this name. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const environment = { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1' }
    const asked = promisify(execFile)(path, ['version', '-json'], {
      timeout: VERSION_MS_MAX,
      env: environment,
    })
    const said: { [field: string]: unknown } = JSON.parse((await asked).stdout)
    const version = said[VERSION_FIELD]
    return typeof version === 'string' ? version : undefined
  } catch {
    return undefined
  }
}
