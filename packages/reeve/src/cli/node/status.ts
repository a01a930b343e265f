import type { Allocation, HostUsage, Node } from '@reeve/contract'
import { formatAllocationTable } from '../alloc/allocation-text.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { formatId } from '../resolve.ts'
import {
  agoFromIso,
  formatAge,
  formatKeyValues,
  formatSize,
  joinSections,
  renderFields,
  renderNonEmptyFields,
  renderTable,
} from '../output/format.ts'
import { statusStyle } from '../output/color.ts'
import { resolveNode, type NodeStub } from './find-node.ts'

export async function runNodeStatus(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  if (args.length === 0 && !flags.has('self')) await listNodes(invocation)
  else await showNode(invocation)
  return EXIT_CODES.ok
}

async function listNodes({ client, flags, output, signal }: CommandContext): Promise<void> {
  const isVerbose = flags.has('verbose')
  const filter = flags.string('filter')
  const nodes: NodeStub[] = []
  for await (const node of client.pages('listNodes', { query: { filter }, signal }))
    nodes.push(node)
  output.print(nodes, () => {
    if (nodes.length === 0) return 'There are no nodes. "reeve agent --client" starts one.'
    const rows = nodes.map((node) => [
      formatId(node.ID, isVerbose),
      node.Name,
      node.Datacenter,
      node.NodePool,
      node.NodeClass,
      node.Address,
      node.Drain ? output.paint('warning', 'draining') : '',
      output.paint(statusStyle(node.SchedulingEligibility), node.SchedulingEligibility),
      output.paint(statusStyle(node.Status), node.Status),
    ])
    const heading = ['ID', 'Name', 'Datacenter', 'Pool', 'Class', 'Address']
    return renderTable([...heading, 'Drain', 'Eligibility', 'Status'], rows)
  })
}

async function showNode(invocation: CommandContext): Promise<void> {
  const { client, flags, output } = invocation
  const { ID } = await resolveNode(invocation)
  const params = { node_id: ID }
  const { data: node } = await client.v1.readNode({ params })
  if (output.isStructured) return output.print(node, () => '')
  const { data: allocations } = await client.v1.listNodeAllocations({ params })
  const usage = flags.has('stats')
    ? (await client.v1.readClientStats({ query: { node_id: ID } })).data
    : undefined
  output.print(node, () => formatNode({ node, allocations, usage }, invocation))
}

const SECOND_MS = 1_000

interface NodeView {
  readonly node: Node
  readonly allocations: readonly Allocation[]
  /** Undefined without `--stats`. */
  readonly usage: HostUsage | undefined
}

/** Formats the details of a node. */
export function formatNode(view: NodeView, invocation: CommandContext): string {
  const { node, allocations, usage } = view
  const { flags } = invocation
  const listed = flags.has('all') ? allocations : allocations.filter(holdsResources)
  const isVerbose = flags.has('verbose')
  return joinSections([
    overview(node, invocation),
    formatDrain(node, invocation),
    driverTable(node, invocation),
    resourceTable(node, allocations.filter(holdsResources)),
    usage === undefined ? '' : formatUsage(usage),
    listed.length === 0
      ? 'No allocations.\n'
      : `Allocations\n${formatAllocationTable(listed, invocation)}`,
    eventTable(node, invocation),
    isVerbose ? attributeText(node) : '',
  ])
}

function holdsResources({ ClientStatus, DesiredStatus }: Allocation): boolean {
  if (ClientStatus === 'running' || ClientStatus === 'unknown') return true
  return ClientStatus === 'pending' && DesiredStatus === 'run'
}

function overview(node: Node, { host, output }: CommandContext): string {
  const sinceMs = host.nowMs() - node.StatusUpdatedAt * SECOND_MS
  const status = output.paint(statusStyle(node.Status), node.Status)
  return renderNonEmptyFields([
    ['ID', node.ID],
    ['Name', node.Name],
    ['Datacenter', node.Datacenter],
    ['Pool', node.NodePool],
    ['Class', node.NodeClass],
    ['Address', node.HTTPAddr],
    ['Status', `${status} since ${formatAge(sinceMs)}`],
    ['Description', node.StatusDescription],
    ['Eligibility', node.SchedulingEligibility],
    ['Meta', formatKeyValues(node.Meta)],
    ['Volumes', Object.keys(node.HostVolumes ?? {}).join(', ')],
    ['Networks', Object.keys(node.HostNetworks ?? {}).join(', ')],
  ])
}

function formatDrain({ DrainStrategy, LastDrain }: Node, { host }: CommandContext): string {
  const nowMs = host.nowMs()
  if (DrainStrategy !== null) {
    const endMs = Date.parse(DrainStrategy.ForceDeadline)
    const hasEnd = !Number.isNaN(endMs) && endMs > 0
    return renderNonEmptyFields([
      ['Draining', `since ${agoFromIso(DrainStrategy.StartedAt, nowMs)}`],
      ['Deadline', hasEnd ? `in ${formatAge(endMs - nowMs)}` : 'none'],
      ['System jobs', DrainStrategy.IgnoreSystemJobs ? 'stay' : 'leave last'],
    ])
  }
  if (LastDrain === null) return ''
  const { Status, UpdatedAt, Meta } = LastDrain
  return renderNonEmptyFields([
    ['Last drain', `${Status} ${agoFromIso(UpdatedAt, nowMs)}`],
    ['Drain meta', formatKeyValues(Meta)],
  ])
}

function driverTable({ Drivers }: Node, { output }: CommandContext): string {
  // Drivers that were not detected are listed with the reason.
  const rows = Object.entries(Drivers)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { Detected, Healthy, HealthDescription }]) => {
      const word = !Detected ? 'not detected' : Healthy ? 'healthy' : 'unhealthy'
      return [name, output.paint(statusStyle(word), word), HealthDescription]
    })
  return rows.length === 0
    ? 'No drivers.\n'
    : renderTable(['Driver', 'Health', 'Description'], rows)
}

/** Formats the capacity of the node for allocations and the allocated share. */
function resourceTable(node: Node, allocations: readonly Allocation[]): string {
  const { NodeResources: capacity, ReservedResources: reserved } = node
  const allocated = allocations.map(({ AllocatedResources }) => AllocatedResources)
  const tasks = allocated.flatMap(({ Tasks }) => Object.values(Tasks))
  const resources = [
    {
      name: 'CPU',
      unit: 'MHz',
      used: sum(tasks.map(({ Cpu }) => Cpu.CpuShares)),
      room: capacity.Cpu.CpuShares - reserved.Cpu.CpuShares,
    },
    {
      name: 'Memory',
      unit: 'MB',
      used: sum(tasks.map(({ Memory }) => Memory.MemoryMB)),
      room: capacity.Memory.MemoryMB - reserved.Memory.MemoryMB,
    },
    {
      name: 'Disk',
      unit: 'MB',
      used: sum(allocated.map(({ Shared }) => Shared.DiskMB)),
      room: capacity.Disk.DiskMB - reserved.Disk.DiskMB,
    },
  ]
  const rows = resources.map(({ name, unit, used, room }) => {
    const share = room <= 0 ? '' : `${Math.round((used / room) * 100)} %`
    return [name, `${used} ${unit}`, `${room} ${unit}`, share]
  })
  return renderTable(['Resource', 'Allocated', 'Capacity', 'Share'], rows)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

function formatUsage({ Memory, CPU, AllocDirStats, Uptime }: HostUsage): string {
  const percents = CPU.map(({ TotalPercent }) => TotalPercent)
  const mean = percents.length === 0 ? 0 : sum(percents) / percents.length
  return `In use on the machine\n${renderFields([
    ['CPU', `${mean.toFixed(1)} % of ${CPU.length} processors`],
    ['Memory', `${formatSize(Memory.Used)} of ${formatSize(Memory.Total)}`],
    ['Disk', `${formatSize(AllocDirStats.Used)} of ${formatSize(AllocDirStats.Size)}`],
    ['Up', formatAge(Uptime * SECOND_MS)],
  ])}`
}

function eventTable({ Events }: Node, { host }: CommandContext): string {
  const rows = Events.toReversed().map(({ Timestamp, Subsystem, Message }) => [
    agoFromIso(Timestamp, host.nowMs()),
    Subsystem,
    Message,
  ])
  return renderTable(['Time', 'Subsystem', 'Event'], rows)
}

function attributeText({ Attributes }: Node): string {
  const entries = Object.entries(Attributes).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `Attributes\n${renderFields(entries)}`
}
