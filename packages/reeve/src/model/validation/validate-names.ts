import type { Job, NetworkResource, Service, Task, TaskGroup } from '@reeve/contract'
import { LIMITS } from '../limits.ts'
import { finding, type Finding } from './finding.ts'

/**
 * Names with control characters. Names become file names, environment variables, labels, log lines
 * and lines of a terminal; a control character in one of them hides what it is or acts on the
 * reader. All of them are rejected here, wherever a node would have accepted them.
 */
export function checkJobNames(job: Job): readonly Finding[] {
  const names = new NameCheck()
  // A null character in these is reported by the rules of the ID and the name.
  names.text('ID', 'Job ID', withoutNull(job.ID))
  names.text('Name', 'Job name', withoutNull(job.Name))
  names.text('NodePool', 'Node pool', job.NodePool)
  names.texts('Datacenters', 'Datacenter', job.Datacenters)
  names.keys('Meta', 'Meta key', job.Meta)
  const { MetaRequired, MetaOptional } = job.ParameterizedJob ?? NO_META
  names.texts('ParameterizedJob.MetaRequired', 'Meta key', MetaRequired)
  names.texts('ParameterizedJob.MetaOptional', 'Meta key', MetaOptional)
  return names.findings
}

const NO_META = { MetaRequired: null, MetaOptional: null }

export function checkGroupNames(group: TaskGroup, path: string): readonly Finding[] {
  const names = new NameCheck()
  names.text(`${path}.Name`, 'Task group name', withoutNull(group.Name))
  names.keys(`${path}.Meta`, 'Meta key', group.Meta)
  names.keys(`${path}.Volumes`, 'Volume name', group.Volumes)
  for (const [label, volume] of Object.entries(group.Volumes ?? {}))
    names.text(`${path}.Volumes[${label}].Source`, 'Volume source', volume.Source)
  addNetworks(names, `${path}.Networks`, group.Networks)
  addServices(names, `${path}.Services`, group.Services)
  return names.findings
}

export function checkTaskNames(task: Task, path: string): readonly Finding[] {
  const names = new NameCheck()
  names.text(`${path}.Name`, 'Task name', withoutNull(task.Name))
  names.text(`${path}.Driver`, 'Task driver', task.Driver)
  names.text(`${path}.User`, 'User', task.User)
  names.keys(`${path}.Env`, 'Environment variable', task.Env)
  names.keys(`${path}.Meta`, 'Meta key', task.Meta)
  names.configKeys(`${path}.Config`, task.Config)
  names.text(`${path}.DispatchPayload.File`, 'Payload file', task.DispatchPayload?.File ?? '')
  addFiles(names, path, task)
  addServices(names, `${path}.Services`, task.Services)
  addNetworks(names, `${path}.Resources.Networks`, task.Resources.Networks)
  for (const [index, { Name }] of (task.Actions ?? []).entries())
    names.text(`${path}.Actions[${index}].Name`, 'Action name', Name)
  return names.findings
}

function addFiles(names: NameCheck, path: string, task: Task): void {
  for (const [index, artifact] of (task.Artifacts ?? []).entries()) {
    const at = `${path}.Artifacts[${index}]`
    names.text(`${at}.GetterSource`, 'Artifact source', artifact.GetterSource)
    names.text(`${at}.RelativeDest`, 'Artifact destination', artifact.RelativeDest)
    names.keys(`${at}.GetterOptions`, 'Artifact option', artifact.GetterOptions)
    names.keys(`${at}.GetterHeaders`, 'Artifact header', artifact.GetterHeaders)
  }
  for (const [index, template] of (task.Templates ?? []).entries()) {
    const at = `${path}.Templates[${index}]`
    names.text(`${at}.SourcePath`, 'Template source', template.SourcePath)
    names.text(`${at}.DestPath`, 'Template destination', template.DestPath)
  }
  for (const [index, mount] of (task.VolumeMounts ?? []).entries()) {
    const at = `${path}.VolumeMounts[${index}]`
    names.text(`${at}.Volume`, 'Volume name', mount.Volume)
    names.text(`${at}.Destination`, 'Volume destination', mount.Destination)
  }
}

function addNetworks(
  names: NameCheck,
  path: string,
  networks: readonly NetworkResource[] | null,
): void {
  for (const [index, network] of (networks ?? []).entries()) {
    const at = `${path}[${index}]`
    names.text(`${at}.Mode`, 'Network mode', network.Mode)
    names.text(`${at}.Hostname`, 'Hostname', network.Hostname)
    names.keys(`${at}.CNI.Args`, 'CNI argument', network.CNI?.Args ?? null)
    for (const list of ['ReservedPorts', 'DynamicPorts'] as const)
      for (const [position, port] of (network[list] ?? []).entries()) {
        names.text(`${at}.${list}[${position}].Label`, 'Port label', port.Label)
        names.text(`${at}.${list}[${position}].HostNetwork`, 'Host network', port.HostNetwork)
      }
  }
}

function addServices(names: NameCheck, path: string, services: readonly Service[] | null): void {
  for (const [index, service] of (services ?? []).entries()) {
    const at = `${path}[${index}]`
    names.text(`${at}.Name`, 'Service name', service.Name)
    names.text(`${at}.PortLabel`, 'Port label', service.PortLabel)
    names.texts(`${at}.Tags`, 'Service tag', service.Tags)
    names.texts(`${at}.CanaryTags`, 'Service tag', service.CanaryTags)
    names.keys(`${at}.Meta`, 'Meta key', service.Meta)
    for (const [position, check] of (service.Checks ?? []).entries()) {
      names.text(`${at}.Checks[${position}].Name`, 'Check name', check.Name)
      names.keys(`${at}.Checks[${position}].Header`, 'Check header', check.Header)
    }
  }
}

// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
// eslint-disable-next-line no-control-regex -- as above
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g

/** Collects what is wrong; names that are in order cost a search and no texts. */
class NameCheck {
  readonly findings: Finding[] = []

  text(path: string, noun: string, name: string): void {
    const at = name.search(CONTROL)
    if (at < 0) return
    const character = escapeOf(name.charAt(at))
    const where = `contains the control character ${character} at position ${at + 1}`
    this.findings.push(finding(path, `${noun} "${shown(name)}" ${where}`))
  }

  texts(path: string, noun: string, names: readonly string[] | null): void {
    for (const [index, name] of (names ?? []).entries()) this.text(`${path}[${index}]`, noun, name)
  }

  keys(path: string, noun: string, map: Readonly<Record<string, unknown>> | null): void {
    for (const name of Object.keys(map ?? {})) this.text(path, noun, name)
  }

  /** Labels, options and the like of a driver. Its values may be any text, such as a script. */
  configKeys(path: string, value: unknown, depth = 0): void {
    if (typeof value !== 'object' || value === null || depth > LIMITS.jsonBodyDepthMax) return
    for (const [key, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) this.text(path, 'Driver setting', key)
      this.configKeys(path, inner, depth + 1)
    }
  }
}

/** As it is read in any log: control characters are escaped, and a long name is cut. */
function shown(name: string): string {
  const cut = name.length > LIMITS.shownNameCharsMax
  const head = cut ? `${name.slice(0, LIMITS.shownNameCharsMax)}…` : name
  return head.replaceAll(CONTROLS, escapeOf)
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function withoutNull(name: string): string {
  return name.includes('\0') ? '' : name
}
