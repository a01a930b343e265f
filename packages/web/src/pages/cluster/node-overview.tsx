import type { DriverInfo, Node } from '@reeve/contract'
import { useRead } from '../../data/use-read.ts'
import { Ago } from '../../parts/ago.tsx'
import { megabytesText } from '../../parts/bytes.ts'
import { Facts, Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfText } from '../../parts/time.ts'
import { NodeUsage } from './node-usage.tsx'

/** What the node has, what it uses, and what happened to it. */
export function NodeOverview({ node }: { readonly node: Node }) {
  return (
    <>
      <DrainNote node={node} />
      <Panel title="Capacity">
        <Facts facts={capacityFacts(node)} />
      </Panel>
      {node.Status === 'ready' && <NodeUsage node={node} />}
      <Panel title="Drivers">
        <ul className="drivers">
          {Object.entries(node.Drivers).map(([name, driver]) => (
            <Driver key={name} name={name} driver={driver} />
          ))}
        </ul>
      </Panel>
      <Panel title="Events">
        <Events node={node} />
      </Panel>
    </>
  )
}

function DrainNote({ node }: { readonly node: Node }) {
  const { DrainStrategy: drain, LastDrain } = node
  if (drain !== null) {
    const by = dateOfText(drain.ForceDeadline)
    return (
      <p className="note tone-warn node-note">
        The node drains since <Ago date={dateOfText(drain.StartedAt)} />.{' '}
        {by === undefined
          ? 'It has no deadline.'
          : `What is left is stopped at ${by.toISOString()}.`}
        {drain.IgnoreSystemJobs && ' System jobs stay.'} <DrainProgress node={node} />
      </p>
    )
  }
  if (LastDrain === null) return null
  return (
    <p className="note tone-idle node-note">
      The last drain was {LastDrain.Status}, <Ago date={dateOfText(LastDrain.UpdatedAt)} />.
    </p>
  )
}

/** How far the drain is. Gone ones are told of too: one number does not say whether it moves. */
function DrainProgress({ node }: { readonly node: Node }) {
  const { data } = useRead(
    ['node-drain', node.ID],
    (api, signal) => api.v1.listNodeAllocations({ params: { node_id: node.ID }, signal }),
    { watches: [{ topic: 'Allocation' }] },
  )
  if (data === undefined) return null
  const left = data.filter(({ ClientStatus }) => ALIVE.includes(ClientStatus)).length
  return (
    <strong role="status">
      {left === 0 ? 'Nothing is left on it.' : `${left} still on it, ${data.length - left} gone.`}
    </strong>
  )
}

const ALIVE: readonly string[] = ['pending', 'running', 'unknown']

function capacityFacts({ NodeResources, ReservedResources, HTTPAddr }: Node) {
  const { Cpu, Memory, Disk, Devices } = NodeResources
  return [
    { name: 'CPU', value: `${Cpu.CpuShares} MHz, ${Cpu.TotalCpuCores} cores` },
    { name: 'Memory', value: megabytesText(Memory.MemoryMB) },
    { name: 'Disk', value: megabytesText(Disk.DiskMB) },
    {
      name: 'Reserved',
      value: `${ReservedResources.Cpu.CpuShares} MHz, ${megabytesText(ReservedResources.Memory.MemoryMB)}`,
    },
    ...(Devices ?? []).map(({ Vendor, Type, Name, Instances }) => ({
      name: `${Vendor}/${Type}/${Name}`,
      value: `${Instances.filter(({ Healthy }) => Healthy).length} of ${Instances.length} healthy`,
    })),
    { name: 'Address', value: HTTPAddr },
  ]
}

function Driver({ name, driver }: { readonly name: string; readonly driver: DriverInfo }) {
  const { Detected, Healthy, HealthDescription } = driver
  const state = !Detected ? 'stopped' : Healthy ? 'healthy' : 'unhealthy'
  return (
    <li title={HealthDescription}>
      <StateBadge state={state} text={Detected ? state : 'not there'} /> <b>{name}</b>{' '}
      {!Healthy && <span className="quiet">{HealthDescription}</span>}
    </li>
  )
}

function Events({ node }: { readonly node: Node }) {
  const events = node.Events.toReversed()
  return (
    <ol className="timeline">
      {events.map(({ Message, Subsystem, Timestamp, Details, CreateIndex }, index) => (
        <li key={`${CreateIndex} ${index}`} className="tone-idle">
          <span className="timeline-when">
            <Ago date={dateOfText(Timestamp)} />
          </span>
          <span className="timeline-what">
            {Message} <span className="tag">{Subsystem}</span>
            {Details !== null && Object.keys(Details).length > 0 && (
              <span className="timeline-text">
                {Object.entries(Details)
                  .map(([name, value]) => `${name}: ${value}`)
                  .join(', ')}
              </span>
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}
