import type { Task, TaskArtifact, Template } from '@reeve/contract'
import { parseArtifactScheme } from '@reeve/kit/artifact-scheme.ts'
import { formatDurationNs } from '@reeve/kit/duration.ts'
import { unknownSignalNumber } from '@reeve/kit/signal.ts'
import {
  concatIssues,
  forEachEntry,
  issue,
  nestIssues,
  quote,
  issueIf,
  type ValidationIssue,
} from './validation-issue.ts'

const ESCAPES_ALLOCATION = 'destination escapes allocation directory'
const CHANGE_MODES = ['noop', 'restart', 'signal', 'script']
const CHECKSUM_DIGITS: Readonly<Record<string, number>> = {
  md5: 32,
  sha1: 40,
  sha256: 64,
  sha512: 128,
}

export function checkTemplates(task: Task, path: string): readonly ValidationIssue[] {
  const firstIndexByPath = new Map<string, number>()
  return forEachEntry(task.Templates, `${path}.Templates`, (template, at, index) => {
    const first = firstIndexByPath.get(template.DestPath)
    if (first === undefined) firstIndexByPath.set(template.DestPath, index)
    return concatIssues(
      nestIssues(at, `Template ${index + 1} validation failed`, checkTemplate(template, at)),
      issueIf(
        first !== undefined &&
          template.DestPath !== '' &&
          issue(
            `${at}.DestPath`,
            `Template ${index + 1} has same destination as ${(first ?? 0) + 1}`,
          ),
      ),
    )
  })
}

function checkTemplate(template: Template, path: string): readonly ValidationIssue[] {
  const { SourcePath: source, EmbeddedTmpl: text, DestPath: destination } = template
  return concatIssues(
    issueIf(
      source === '' &&
        text === '' &&
        issue(path, 'Must specify a source path or have an embedded template'),
    ),
    issueIf(
      destination === '' &&
        issue(`${path}.DestPath`, 'Must specify a destination for the template'),
    ),
    issueIf(escapesAllocation(destination) && issue(`${path}.DestPath`, ESCAPES_ALLOCATION)),
    checkChange(template, path),
    issueIf(
      template.Splay < 0 &&
        issue(
          `${path}.Splay`,
          `Must specify positive splay value, not ${formatDurationNs(template.Splay)}`,
        ),
    ),
    issueIf(
      template.Perms !== '' &&
        !/^[0-7]{1,5}$/.test(template.Perms) &&
        issue(`${path}.Perms`, `Failed to parse ${quote(template.Perms)} as octal`),
    ),
    checkWait(template, path),
  )
}

function checkChange(template: Template, path: string): readonly ValidationIssue[] {
  const { ChangeMode: mode, ChangeSignal: signal, ChangeScript: script } = template
  if (!CHANGE_MODES.includes(mode))
    return [
      issue(
        `${path}.ChangeMode`,
        `Invalid change mode given: ${quote(mode)}. Must be one of the following: ${CHANGE_MODES.join(', ')}`,
      ),
    ]
  return concatIssues(
    issueIf(
      mode === 'signal' &&
        signal === '' &&
        issue(`${path}.ChangeSignal`, 'Must specify signal value when change mode is signal'),
    ),
    checkSignal(signal, `${path}.ChangeSignal`),
    issueIf(
      mode === 'signal' &&
        template.Envvars &&
        issue(`${path}.ChangeMode`, 'cannot use signals with env var templates'),
    ),
    issueIf(
      mode === 'script' &&
        script === null &&
        issue(
          `${path}.ChangeScript`,
          'must specify change script configuration value when change mode is script',
        ),
    ),
    issueIf(
      mode === 'script' &&
        script?.Command === '' &&
        issue(
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
export function checkSignal(signal: string, path: string): readonly ValidationIssue[] {
  const number = unknownSignalNumber(signal)
  const remedy = 'Use a name such as "SIGTERM", or a number from 1 to 31 or from 34 to 64'
  return issueIf(number !== undefined && issue(path, `There is no signal ${number}. ${remedy}`))
}

function checkWait({ Wait: wait }: Template, path: string): readonly ValidationIssue[] {
  if (wait === null) return []
  const { Min: minimum, Max: maximum } = wait
  return concatIssues(
    issueIf(
      ((minimum ?? 0) < 0 || (maximum ?? 0) < 0) &&
        issue(`${path}.Wait`, 'template wait times cannot be negative'),
    ),
    issueIf(
      minimum !== null &&
        maximum !== null &&
        minimum > maximum &&
        issue(
          `${path}.Wait`,
          `template wait min ${formatDurationNs(minimum ?? 0)} is greater than max ${formatDurationNs(maximum ?? 0)}`,
        ),
    ),
  )
}

export function checkArtifacts(task: Task, path: string): readonly ValidationIssue[] {
  return forEachEntry(task.Artifacts, `${path}.Artifacts`, (artifact, at, index) =>
    nestIssues(at, `Artifact ${index + 1} validation failed`, checkArtifact(artifact, at)),
  )
}

function checkArtifact(artifact: TaskArtifact, path: string): readonly ValidationIssue[] {
  const { GetterMode: mode, RelativeDest: destination, GetterOptions: options } = artifact
  const checksum = options?.['checksum']
  const problem = checksum === undefined ? undefined : checksumProblem(checksum)
  return concatIssues(
    issueIf(
      artifact.GetterSource === '' && issue(`${path}.GetterSource`, 'source must be specified'),
    ),
    checkSource(artifact.GetterSource, `${path}.GetterSource`),
    issueIf(
      !['any', 'file', 'dir'].includes(mode) &&
        issue(
          `${path}.GetterMode`,
          `invalid artifact mode ${quote(mode)}; must be one of: any, file, dir`,
        ),
    ),
    issueIf(escapesAllocation(destination) && issue(`${path}.RelativeDest`, ESCAPES_ALLOCATION)),
    issueIf(problem !== undefined && issue(`${path}.GetterOptions`, problem ?? '')),
  )
}

/**
 * Validates an artifact's source. Rejected here, because it would fail on each node that the task
 * is placed on.
 */
function checkSource(source: string, path: string): readonly ValidationIssue[] {
  const { scheme, kind } = parseArtifactScheme(source)
  // References are resolved on the node only.
  if (source === '' || kind !== undefined || source.includes('${')) return []
  const sourceLabel = scheme === '' ? 'a source without a scheme' : `${quote(scheme)} sources`
  return [
    issue(
      path,
      `${sourceLabel} cannot be fetched: use an https:// address, s3::https://, gcs::https://, git::, or file://`,
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
  const expectedLength = Object.hasOwn(CHECKSUM_DIGITS, type) ? CHECKSUM_DIGITS[type] : undefined
  if (expectedLength === undefined) return `unsupported checksum type: ${type}`
  if (!/^[0-9A-Fa-f]*$/.test(digits)) return `invalid checksum: ${quote(digits)} is not hexadecimal`
  return digits.length === expectedLength ? undefined : `invalid ${type} checksum: ${quote(digits)}`
}

/** Validates the dispatch payload, which is written to the task's local directory. */
export function checkDispatchPayload(task: Task, path: string): readonly ValidationIssue[] {
  const payload = task.DispatchPayload
  if (payload === null) return []
  const at = `${path}.DispatchPayload.File`
  const prefix = 'Dispatch Payload validation failed'
  return concatIssues(
    issueIf(payload.File === '' && issue(at, `${prefix}: file must be specified`)),
    issueIf(lowestDepth(payload.File) < 0 && issue(at, `${prefix}: ${ESCAPES_ALLOCATION}`)),
  )
}

/**
 * Reports whether a destination is outside of the allocation directory. Destinations are relative
 * to the task's directory, one level inside it.
 */
function escapesAllocation(destination: string): boolean {
  return lowestDepth(destination) < -1
}

/** Returns the lowest level that a path reaches, relative to its start. */
function lowestDepth(path: string): number {
  let [depth, lowest] = [0, 0]
  for (const part of path.split(/[/\\]/)) {
    if (part === '' || part === '.') continue
    depth += part === '..' ? -1 : 1
    lowest = Math.min(lowest, depth)
  }
  return lowest
}
