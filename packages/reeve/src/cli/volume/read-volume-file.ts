import { basename } from 'node:path'
import type { HostVolumeInput } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../failure.ts'
import { readTextFile } from '../spec-file/file-text.ts'

/** Reads a volume file: HCL, its JSON form, or a volume in the JSON of the API. */
export async function readVolumeFile(
  invocation: CommandContext,
  path: string,
): Promise<HostVolumeInput> {
  const text = await readTextFile(invocation, path)
  const file = path === '-' ? '<stdin>' : basename(path)
  const input = apiVolume(text) ?? (await parsedVolume({ file, text }))
  return { ...input, Namespace: input.Namespace || invocation.settings.namespace || 'default' }
}

async function parsedVolume(file: {
  readonly file: string
  readonly text: string
}): Promise<HostVolumeInput> {
  // The language is large; other commands start without it.
  const [{ formatDiagnostics }, { parseVolumeFile }] = await Promise.all([
    import('@reeve/hcl'),
    import('../../jobspec/index.ts'),
  ])
  const parsed = parseVolumeFile(file)
  if (parsed.ok) return parsed.value
  const texts = new Map([[file.file, file.text]])
  throw new CommandError(
    `The volume file is invalid:\n\n${formatDiagnostics(texts, parsed.error)}`,
    {
      hint: 'Nothing was sent to the server. "reeve volume init" writes an example.',
    },
  )
}

/** A volume as `volume show --json` prints it, or a request with one; undefined for HCL. */
function apiVolume(text: string): HostVolumeInput | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    // HCL, or broken JSON, whose errors the parser describes with their position.
    return undefined
  }
  const volume = memberOf(read, 'Volume') ?? read
  // Proof: the server validates every field of the request.
  return memberOf(volume, 'Name') === undefined ? undefined : (volume as HostVolumeInput)
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
