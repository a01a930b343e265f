import type { Task, TaskArtifact, Template } from '@reeve/contract'
import { parseArtifactScheme } from '@reeve/kit/artifact-scheme.ts'
import { formatDurationNs } from '@reeve/kit/duration.ts'
import { unknownSignalNumber } from '@reeve/kit/signal.ts'
import { allOf, each, finding, nest, quote, when, type Finding } from './finding.ts'

const ESCAPES = 'destination escapes allocation directory'
const CHANGE_MODES = ['noop', 'restart', 'signal', 'script']
const CHECKSUM_DIGITS: Readonly<Record<string, number>> = {
  md5: 32,
  sha1: 40,
  sha256: 64,
  sha512: 128,
}

export function checkTemplates(task: Task, path: string): readonly Finding[] {
  const firstOf = new Map<string, number>()
  return each(task.Templates, `${path}.Templates`, (template, at, index) => {
    const first = firstOf.get(template.DestPath)
    if (first === undefined) firstOf.set(template.DestPath, index)
    return allOf(
      nest(at, `Template ${index + 1} validation failed`, checkTemplate(template, at)),
      when(
        first !== undefined &&
          template.DestPath !== '' &&
          finding(
            `${at}.DestPath`,
            `Template ${index + 1} has same destination as ${(first ?? 0) + 1}`,
          ),
      ),
    )
  })
}

function checkTemplate(template: Template, path: string): readonly Finding[] {
  const { SourcePath: source, EmbeddedTmpl: text, DestPath: destination } = template
  return allOf(
    when(
      source === '' &&
        text === '' &&
        finding(path, 'Must specify a source path or have an embedded template'),
    ),
    when(
      destination === '' &&
        finding(`${path}.DestPath`, 'Must specify a destination for the template'),
    ),
    when(escapesAllocation(destination) && finding(`${path}.DestPath`, ESCAPES)),
    checkChange(template, path),
    when(
      template.Splay < 0 &&
        finding(
          `${path}.Splay`,
          `Must specify positive splay value, not ${formatDurationNs(template.Splay)}`,
        ),
    ),
    when(
      template.Perms !== '' &&
        !/^[0-7]{1,5}$/.test(template.Perms) &&
        finding(`${path}.Perms`, `Failed to parse ${quote(template.Perms)} as octal`),
    ),
    checkWait(template, path),
  )
}

function checkChange(template: Template, path: string): readonly Finding[] {
  const { ChangeMode: mode, ChangeSignal: signal, ChangeScript: script } = template
  if (!CHANGE_MODES.includes(mode))
    return [
      finding(
        `${path}.ChangeMode`,
        `Invalid change mode given: ${quote(mode)}. Must be one of the following: ${CHANGE_MODES.join(', ')}`,
      ),
    ]
  return allOf(
    when(
      mode === 'signal' &&
        signal === '' &&
        finding(`${path}.ChangeSignal`, 'Must specify signal value when change mode is signal'),
    ),
    checkSignal(signal, `${path}.ChangeSignal`),
    when(
      mode === 'signal' &&
        template.Envvars &&
        finding(`${path}.ChangeMode`, 'cannot use signals with env var templates'),
    ),
    when(
      mode === 'script' &&
        script === null &&
        finding(
          `${path}.ChangeScript`,
          'must specify change script configuration value when change mode is script',
        ),
    ),
    when(
      mode === 'script' &&
        script?.Command === '' &&
        finding(
          `${path}.ChangeScript.Command`,
          'must specify script path value when change mode is script',
        ),
    ),
  )
}

/**
 * Validates a signal that is given by number. Names are checked by the scheduler, because nodes
 * differ in the signals that they support.
 */
export function checkSignal(signal: string, path: string): readonly Finding[] {
  const number = unknownSignalNumber(signal)
  const remedy = 'Use a name such as "SIGTERM", or a number from 1 to 31 or from 34 to 64'
  return when(number !== undefined && finding(path, `There is no signal ${number}. ${remedy}`))
}

function checkWait({ Wait: wait }: Template, path: string): readonly Finding[] {
  if (wait === null) return []
  const { Min: minimum, Max: maximum } = wait
  return allOf(
    when(
      ((minimum ?? 0) < 0 || (maximum ?? 0) < 0) &&
        finding(`${path}.Wait`, 'template wait times cannot be negative'),
    ),
    when(
      minimum !== null &&
        maximum !== null &&
        minimum > maximum &&
        finding(
          `${path}.Wait`,
          `template wait min ${formatDurationNs(minimum ?? 0)} is greater than max ${formatDurationNs(maximum ?? 0)}`,
        ),
    ),
  )
}

export function checkArtifacts(task: Task, path: string): readonly Finding[] {
  return each(task.Artifacts, `${path}.Artifacts`, (artifact, at, index) =>
    nest(at, `Artifact ${index + 1} validation failed`, checkArtifact(artifact, at)),
  )
}

function checkArtifact(artifact: TaskArtifact, path: string): readonly Finding[] {
  const { GetterMode: mode, RelativeDest: destination, GetterOptions: options } = artifact
  const checksum = options?.['checksum']
  const problem = checksum === undefined ? undefined : checksumProblem(checksum)
  return allOf(
    when(
      artifact.GetterSource === '' && finding(`${path}.GetterSource`, 'source must be specified'),
    ),
    checkSource(artifact.GetterSource, `${path}.GetterSource`),
    when(
      !['any', 'file', 'dir'].includes(mode) &&
        finding(
          `${path}.GetterMode`,
          `invalid artifact mode ${quote(mode)}; must be one of: any, file, dir`,
        ),
    ),
    when(escapesAllocation(destination) && finding(`${path}.RelativeDest`, ESCAPES)),
    when(problem !== undefined && finding(`${path}.GetterOptions`, problem ?? '')),
  )
}

/**
 * Validates an artifact's source. Rejected here, because it would fail on each node that the task
 * is placed on.
 */
function checkSource(source: string, path: string): readonly Finding[] {
  const { scheme, kind } = parseArtifactScheme(source)
  // References are resolved on the node only.
  if (source === '' || kind !== undefined || source.includes('${')) return []
  const what = scheme === '' ? 'a source without a scheme' : `${quote(scheme)} sources`
  return [
    finding(
      path,
      `${what} cannot be fetched: use an https:// address, s3::https://, gcs::https://, git::, or file://`,
    ),
  ]
}

function checksumProblem(checksum: string): string | undefined {
  const text = checksum.trim()
  if (text === '') return 'checksum value cannot be empty'
  // Known on the node only, or read from another file there.
  if (text.includes('${') || text.startsWith('file:')) return undefined
  const [type = '', digits, ...more] = text.split(':')
  if (digits === undefined || more.length > 0)
    return 'checksum value must be given as "type:value" format'
  const wanted = Object.hasOwn(CHECKSUM_DIGITS, type) ? CHECKSUM_DIGITS[type] : undefined
  if (wanted === undefined) return `unsupported checksum type: ${type}`
  if (!/^[0-9A-Fa-f]*$/.test(digits)) return `invalid checksum: ${quote(digits)} is not hexadecimal`
  return digits.length === wanted ? undefined : `invalid ${type} checksum: ${quote(digits)}`
}

/** Validates the dispatch payload, which is written to the task's local directory. */
export function checkDispatchPayload(task: Task, path: string): readonly Finding[] {
  const payload = task.DispatchPayload
  if (payload === null) return []
  const at = `${path}.DispatchPayload.File`
  const prefix = 'Dispatch Payload validation failed'
  return allOf(
    when(payload.File === '' && finding(at, `${prefix}: file must be specified`)),
    when(depthBelow(payload.File) < 0 && finding(at, `${prefix}: ${ESCAPES}`)),
  )
}

/**
 * Reports whether a destination is outside of the allocation directory. Destinations are relative
 * to the task's directory, one level inside it.
 */
function escapesAllocation(destination: string): boolean {
  return depthBelow(destination) < -1
}

/** Returns the lowest level that a path reaches, relative to its start. */
function depthBelow(path: string): number {
  let [depth, lowest] = [0, 0]
  for (const part of path.split(/[/\\]/)) {
    if (part === '' || part === '.') continue
    depth += part === '..' ? -1 : 1
    lowest = Math.min(lowest, depth)
  }
  return lowest
}
