import type { Draws } from './draws.ts'
import { changeNode } from './make-node.ts'
import { CLOCK_SKEWS_MS } from './serving.ts'
import type { SimNode } from './sim-node.ts'
import type { World } from './world.ts'

interface Strike {
  readonly world: World
  readonly draws: Draws
}

type FaultKind = (strike: Strike) => void

/** Faults outside of servers, with their weights. */
const FAULTS: readonly (readonly [number, FaultKind])[] = [
  [2, badNetwork],
  [4, partNode],
  [3, cutNode],
  [4, rebootNode],
  [3, restartAgent],
  [2, joinNode],
  [1, leaveNode],
  [2, changeFacts],
  [1, jumpNodeClock],
]
const CLOCK_FAULTS: readonly (readonly [number, FaultKind])[] = [
  [4, jumpNodeClock],
  [1, restartAgent],
]
/** Durations around the heartbeat timeout of a node. */
const AWAY_MS_MAX = 40_000
const NODES_MAX_GROWTH = 5

export function strike(world: World, draws: Draws): void {
  const { serving, isAboutClocks } = world
  const ofServers = isAboutClocks ? serving.clockFaults : serving.faults
  const ofNodes = isAboutClocks ? CLOCK_FAULTS : FAULTS
  world.faults += 1
  let at = draws.next() * (weightOf(ofServers) + weightOf(ofNodes))
  const ofServer = ofServers.find(([weight]) => (at -= weight) < 0)
  if (ofServer !== undefined) return ofServer[1](draws)
  const [, fault] = ofNodes.find(([weight]) => (at -= weight) < 0) ?? [0, jumpNodeClock]
  fault({ world, draws })
}

function weightOf(faults: readonly (readonly [number, unknown])[]): number {
  return faults.reduce((sum, [weight]) => sum + weight, 0)
}

function badNetwork({ world, draws }: Strike): void {
  world.networkTrouble.delayMsMax = draws.choose(1, 20, 300, 2_000)
  world.networkTrouble.lossChance = draws.choose(0, 0, 0.01, 0.05)
  world.trace.say(`network: ${JSON.stringify(world.networkTrouble)}`)
}

function pickNode({ world, draws }: Strike): SimNode | undefined {
  return draws.pick([...world.nodes.values()].filter((node) => node.isOn))
}

function partNode(one: Strike): void {
  const node = pickNode(one)
  if (node === undefined) return
  const { world, draws } = one
  const awayMs = draws.between(1_000, AWAY_MS_MAX)
  world.trace.say(`${node.id} is apart for ${awayMs} ms`)
  world.network.part(node.id)
  world.clock.after(awayMs, () => world.network.join(node.id))
}

function cutNode(one: Strike): void {
  const node = pickNode(one)
  if (node === undefined) return
  one.world.trace.say(`the connection of ${node.id} breaks`)
  one.world.network.cut(node.id)
}

function rebootNode(one: Strike): void {
  const node = pickNode(one)
  if (node === undefined) return
  const { world, draws } = one
  const awayMs = draws.between(1_000, AWAY_MS_MAX)
  world.trace.say(`${node.id} is off for ${awayMs} ms`)
  node.powerOff()
  world.clock.after(awayMs, () => {
    if (world.nodes.get(node.id) === node) node.powerOn()
  })
}

function restartAgent(one: Strike): void {
  const node = pickNode(one)
  if (node === undefined) return
  const { world, draws } = one
  const awayMs = draws.between(0, AWAY_MS_MAX / 2)
  world.trace.say(`the agent of ${node.id} is away for ${awayMs} ms`)
  node.killAgent()
  world.clock.after(awayMs, () => node.startAgent())
}

function joinNode({ world }: Strike): void {
  if (world.nodes.size >= world.nodesAtFirst + NODES_MAX_GROWTH) return
  world.trace.say(`${world.addNode().id} joins`)
}

/** Removes the node permanently. */
function leaveNode(one: Strike): void {
  const node = pickNode(one)
  if (node === undefined || one.world.nodes.size < 3) return
  one.world.trace.say(`${node.id} leaves for good`)
  node.powerOff()
  one.world.nodes.delete(node.id)
}

function jumpNodeClock(one: Strike): void {
  const node = pickNode(one)
  if (node === undefined) return
  const aheadMs = one.draws.choose(0, ...CLOCK_SKEWS_MS)
  one.world.trace.say(`the clock of ${node.id} is set ${aheadMs} ms ahead`)
  node.setClock(aheadMs)
}

function changeFacts(one: Strike): void {
  const node = pickNode(one)
  one.world.trace.say(`${node?.id} changes`)
  if (node !== undefined) changeNode(one.draws, node)
}
