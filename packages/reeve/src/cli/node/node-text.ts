import type { Allocation, HostUsage, Node } from '@reeve/contract'
import { allocationTable } from '../alloc/allocation-table.ts'
import type { Invocation } from '../command.ts'
import { knownFields, pairsText, sections } from '../output/known-fields.ts'
import { sizeText } from '../output/size.ts'
import { fields, table } from '../output/table.ts'
import { agoFromIso, formatAge } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'

const SECOND_MS = 1_000

interface ShownNode {
  readonly node: Node
  readonly allocations: readonly Allocation[]
  /** Undefined when it was not asked for. */
  readonly usage: HostUsage | undefined
}

/** Everything a person asks of a node. */
export function nodeText(shown: ShownNode, invocation: Invocation): string {
  const { node, allocations, usage } = shown
  const { flags } = invocation
  const here = flags.has('all') ? allocations : allocations.filter(holdsResources)
  const isVerbose = flags.has('verbose')
  return sections([
    overview(node, invocation),
    drainText(node, invocation),
    driverTable(node, invocation),
    resourceTable(node, allocations.filter(holdsResources)),
    usage === undefined ? '' : usageText(usage),
    here.length === 0 ? 'No allocations.\n' : `Allocations\n${allocationTable(here, invocation)}`,
    eventTable(node, invocation),
    isVerbose ? attributeText(node) : '',
  ])
}

function holdsResources({ ClientStatus, DesiredStatus }: Allocation): boolean {
  if (ClientStatus === 'running' || ClientStatus === 'unknown') return true
  return ClientStatus === 'pending' && DesiredStatus === 'run'
}

function overview(node: Node, { host, output }: Invocation): string {
  const sinceMs = host.nowMs() - node.StatusUpdatedAt * SECOND_MS
  const status = output.paint(toneOf(node.Status), node.Status)
  return knownFields([
    ['ID', node.ID],
    ['Name', node.Name],
    ['Datacenter', node.Datacenter],
    ['Pool', node.NodePool],
    ['Class', node.NodeClass],
    ['Address', node.HTTPAddr],
    ['Status', `${status} since ${formatAge(sinceMs)}`],
    ['Description', node.StatusDescription],
    ['Eligibility', node.SchedulingEligibility],
    ['Meta', pairsText(node.Meta)],
    ['Volumes', Object.keys(node.HostVolumes ?? {}).join(', ')],
    ['Networks', Object.keys(node.HostNetworks ?? {}).join(', ')],
  ])
}

function drainText({ DrainStrategy, LastDrain }: Node, { host }: Invocation): string {
  const nowMs = host.nowMs()
  if (DrainStrategy !== null) {
    const endMs = Date.parse(DrainStrategy.ForceDeadline)
    const hasEnd = !Number.isNaN(endMs) && endMs > 0
    return knownFields([
      ['Draining', `since ${agoFromIso(DrainStrategy.StartedAt, nowMs)}`],
      ['Deadline', hasEnd ? `in ${formatAge(endMs - nowMs)}` : 'none'],
      ['System jobs', DrainStrategy.IgnoreSystemJobs ? 'stay' : 'leave last'],
    ])
  }
  if (LastDrain === null) return ''
  const { Status, UpdatedAt, Meta } = LastDrain
  return knownFields([
    ['Last drain', `${Status} ${agoFromIso(UpdatedAt, nowMs)}`],
    ['Drain meta', pairsText(Meta)],
  ])
}

function driverTable({ Drivers }: Node, { output }: Invocation): string {
  // A driver that was not detected says why: that is what a user of it looks for.
  const rows = Object.entries(Drivers)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { Detected, Healthy, HealthDescription }]) => {
      const word = !Detected ? 'not detected' : Healthy ? 'healthy' : 'unhealthy'
      return [name, output.paint(toneOf(word), word), HealthDescription]
    })
  return rows.length === 0 ? 'No drivers.\n' : table(['Driver', 'Health', 'Description'], rows)
}

/** What the node has for allocations, and what they hold of it. */
function resourceTable(node: Node, allocations: readonly Allocation[]): string {
  const { NodeResources: has, ReservedResources: kept } = node
  const held = allocations.map(({ AllocatedResources }) => AllocatedResources)
  const tasks = held.flatMap(({ Tasks }) => Object.values(Tasks))
  const resources = [
    {
      name: 'CPU',
      unit: 'MHz',
      used: sum(tasks.map(({ Cpu }) => Cpu.CpuShares)),
      room: has.Cpu.CpuShares - kept.Cpu.CpuShares,
    },
    {
      name: 'Memory',
      unit: 'MB',
      used: sum(tasks.map(({ Memory }) => Memory.MemoryMB)),
      room: has.Memory.MemoryMB - kept.Memory.MemoryMB,
    },
    {
      name: 'Disk',
      unit: 'MB',
      used: sum(held.map(({ Shared }) => Shared.DiskMB)),
      room: has.Disk.DiskMB - kept.Disk.DiskMB,
    },
  ]
  const rows = resources.map(({ name, unit, used, room }) => {
    const share = room <= 0 ? '' : `${Math.round((used / room) * 100)} %`
    return [name, `${used} ${unit}`, `${room} ${unit}`, share]
  })
  return table(['Resource', 'Allocated', 'Capacity', 'Share'], rows)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

function usageText({ Memory, CPU, AllocDirStats, Uptime }: HostUsage): string {
  const percents = CPU.map(({ TotalPercent }) => TotalPercent)
  const mean = percents.length === 0 ? 0 : sum(percents) / percents.length
  return `In use on the machine\n${fields([
    ['CPU', `${mean.toFixed(1)} % of ${CPU.length} processors`],
    ['Memory', `${sizeText(Memory.Used)} of ${sizeText(Memory.Total)}`],
    ['Disk', `${sizeText(AllocDirStats.Used)} of ${sizeText(AllocDirStats.Size)}`],
    ['Up', formatAge(Uptime * SECOND_MS)],
  ])}`
}

function eventTable({ Events }: Node, { host }: Invocation): string {
  const rows = Events.toReversed().map(({ Timestamp, Subsystem, Message }) => [
    agoFromIso(Timestamp, host.nowMs()),
    Subsystem,
    Message,
  ])
  return table(['Time', 'Subsystem', 'Event'], rows)
}

function attributeText({ Attributes }: Node): string {
  const entries = Object.entries(Attributes).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `Attributes\n${fields(entries)}`
}
