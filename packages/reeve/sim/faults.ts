import type { RandomStream } from './random-stream.ts'
import { changeRandomAttribute } from './make-node.ts'
import { CLOCK_SKEWS_MS } from './server-backend.ts'
import type { SimNode } from './sim-node.ts'
import type { World } from './world.ts'

interface FaultContext {
  readonly world: World
  readonly random: RandomStream
}

type FaultInjector = (strike: FaultContext) => void

/** Faults outside of servers, with their weights. */
const FAULTS: readonly (readonly [number, FaultInjector])[] = [
  [2, degradeNetwork],
  [4, partitionNode],
  [3, dropConnection],
  [4, rebootNode],
  [3, restartAgent],
  [2, addNode],
  [1, removeNode],
  [2, changeNodeAttributes],
  [1, jumpNodeClock],
]
const CLOCK_FAULTS: readonly (readonly [number, FaultInjector])[] = [
  [4, jumpNodeClock],
  [1, restartAgent],
]
/** Durations around the heartbeat timeout of a node. */
const MAX_OUTAGE_MS = 40_000
const MAX_ADDED_NODES = 5

export function injectFault(world: World, random: RandomStream): void {
  const { backend, onlyClockFaults } = world
  const serverFaults = onlyClockFaults ? backend.clockFaults : backend.faults
  const nodeFaults = onlyClockFaults ? CLOCK_FAULTS : FAULTS
  world.faults += 1
  let draw = random.next() * (weightOf(serverFaults) + weightOf(nodeFaults))
  const ofServer = serverFaults.find(([weight]) => (draw -= weight) < 0)
  if (ofServer !== undefined) return ofServer[1](random)
  const [, fault] = nodeFaults.find(([weight]) => (draw -= weight) < 0) ?? [0, jumpNodeClock]
  fault({ world, random })
}

function weightOf(faults: readonly (readonly [number, unknown])[]): number {
  return faults.reduce((sum, [weight]) => sum + weight, 0)
}

function degradeNetwork({ world, random }: FaultContext): void {
  world.networkConditions.delayMsMax = random.choose(1, 20, 300, 2_000)
  world.networkConditions.lossChance = random.choose(0, 0, 0.01, 0.05)
  world.trace.log(`network: ${JSON.stringify(world.networkConditions)}`)
}

function pickNode({ world, random }: FaultContext): SimNode | undefined {
  return random.pick([...world.nodes.values()].filter((node) => node.isOn))
}

function partitionNode(context: FaultContext): void {
  const node = pickNode(context)
  if (node === undefined) return
  const { world, random } = context
  const durationMs = random.between(1_000, MAX_OUTAGE_MS)
  world.trace.log(`${node.id} is partitioned for ${durationMs} ms`)
  world.network.partition(node.id)
  world.clock.after(durationMs, () => world.network.heal(node.id))
}

function dropConnection(context: FaultContext): void {
  const node = pickNode(context)
  if (node === undefined) return
  context.world.trace.log(`the connection of ${node.id} breaks`)
  context.world.network.dropConnections(node.id)
}

function rebootNode(context: FaultContext): void {
  const node = pickNode(context)
  if (node === undefined) return
  const { world, random } = context
  const durationMs = random.between(1_000, MAX_OUTAGE_MS)
  world.trace.log(`${node.id} is off for ${durationMs} ms`)
  node.powerOff()
  world.clock.after(durationMs, () => {
    if (world.nodes.get(node.id) === node) node.powerOn()
  })
}

function restartAgent(context: FaultContext): void {
  const node = pickNode(context)
  if (node === undefined) return
  const { world, random } = context
  const durationMs = random.between(0, MAX_OUTAGE_MS / 2)
  world.trace.log(`the agent of ${node.id} is away for ${durationMs} ms`)
  node.killAgent()
  world.clock.after(durationMs, () => node.startAgent())
}

function addNode({ world }: FaultContext): void {
  if (world.nodes.size >= world.initialNodeCount + MAX_ADDED_NODES) return
  world.trace.log(`${world.addNode().id} joins`)
}

/** Removes the node permanently. */
function removeNode(context: FaultContext): void {
  const node = pickNode(context)
  if (node === undefined || context.world.nodes.size < 3) return
  context.world.trace.log(`${node.id} is removed permanently`)
  node.powerOff()
  context.world.nodes.delete(node.id)
}

function jumpNodeClock(context: FaultContext): void {
  const node = pickNode(context)
  if (node === undefined) return
  const aheadMs = context.random.choose(0, ...CLOCK_SKEWS_MS)
  context.world.trace.log(`the clock of ${node.id} is set ${aheadMs} ms ahead`)
  node.setClock(aheadMs)
}

function changeNodeAttributes(context: FaultContext): void {
  const node = pickNode(context)
  context.world.trace.log(`${node?.id} changes`)
  if (node !== undefined) changeRandomAttribute(context.random, node)
}
