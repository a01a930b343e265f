import type { PlacementRule } from '@reeve/contract'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import { offerDevices } from './devices.ts'
import { capacityOf, demandOn, freeCores, type GroupAsk } from './group-ask.ts'
import { portProblem, portTable } from './ports.ts'

/** A dimension in which a node has too little. */
export interface Shortage {
  readonly rule: PlacementRule
  /** The name under which exhausted nodes are counted. */
  readonly dimension: string
  readonly unit: string
  readonly asked: number
  readonly free: number
  readonly capacity: number
}

/** The first dimension in which the node has too little; undefined when the ask fits. */
export function missingOn(node: PublicNode, ask: GroupAsk, usage: NodeUsage): string | undefined {
  return (
    missingCores(node, ask, usage) ??
    amountShortages(node, ask, usage)[0]?.dimension ??
    particularMissing(node, ask, usage)
  )
}

/** Every dimension in which the node has too little. */
export function shortages(node: PublicNode, ask: GroupAsk, usage: NodeUsage): readonly Shortage[] {
  return [
    ...coreShortages(node, ask, usage),
    ...amountShortages(node, ask, usage),
    ...portShortages(node, ask, usage),
    ...deviceShortages(node, ask, usage),
  ]
}

/** Processor, memory and disk: amounts, of which any part is as good as any other. */
function amountShortages(node: PublicNode, ask: GroupAsk, usage: NodeUsage): readonly Shortage[] {
  const capacity = capacityOf(node)
  const demand = demandOn(ask, capacity)
  const amounts = [
    { rule: 'cpu', unit: 'MHz', asked: demand.cpuShares, used: usage.cpuShares },
    { rule: 'memory', unit: 'MB', asked: demand.memoryMB, used: usage.memoryMB },
    { rule: 'disk', unit: 'MB', asked: ask.diskMB, used: usage.diskMB },
  ] as const
  const has = { cpu: capacity.cpuShares, memory: capacity.memoryMB, disk: capacity.diskMB }
  return amounts
    .filter(({ rule, asked, used }) => used + asked > has[rule])
    .map(({ rule, unit, asked, used }) => ({
      rule,
      dimension: rule,
      unit,
      asked,
      free: has[rule] - used,
      capacity: has[rule],
    }))
}

/** Asked before the amounts: where cores are missing, so are the shares that come with them. */
export function missingCores(
  node: PublicNode,
  ask: GroupAsk,
  usage: NodeUsage,
): string | undefined {
  return coreShortages(node, ask, usage)[0]?.dimension
}

/** Ports and devices: things, of which the node must have the right ones. */
export function particularMissing(
  node: PublicNode,
  ask: GroupAsk,
  usage: NodeUsage,
): string | undefined {
  const port = ask.ports.length === 0 ? undefined : portProblem(ask.ports, portTable(node), usage)
  return port ?? deviceShortages(node, ask, usage)[0]?.dimension
}

function coreShortages(node: PublicNode, ask: GroupAsk, usage: NodeUsage): readonly Shortage[] {
  if (ask.cores === 0) return []
  const capacity = capacityOf(node)
  const free = freeCores(capacity, usage.cores).length
  if (free >= ask.cores) return []
  const counts = { asked: ask.cores, free, capacity: capacity.cores.length }
  return [{ rule: 'cores', dimension: 'cores', unit: '', ...counts }]
}

/** A port is there or it is not: the one that is missing counts as one. */
function portShortages(node: PublicNode, ask: GroupAsk, usage: NodeUsage): readonly Shortage[] {
  if (ask.ports.length === 0) return []
  const dimension = portProblem(ask.ports, portTable(node), usage)
  if (dimension === undefined) return []
  return [{ rule: 'port', dimension, unit: '', asked: 1, free: 0, capacity: 1 }]
}

function deviceShortages(node: PublicNode, ask: GroupAsk, usage: NodeUsage): readonly Shortage[] {
  if (ask.devices.length === 0) return []
  if (offerDevices(ask.devices, node, usage.devices) !== undefined) return []
  const asked = ask.devices.reduce((sum, { request }) => sum + request.Count, 0)
  return [
    {
      rule: 'device',
      dimension: 'devices: no devices match request',
      unit: '',
      asked,
      free: 0,
      capacity: asked,
    },
  ]
}
