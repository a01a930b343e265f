import { aNode } from '../test/build/index.ts'
import type { RandomStream } from './random-stream.ts'
import type { Machine, SimNode } from './sim-node.ts'

const GPU = {
  Vendor: 'acme',
  Type: 'gpu',
  Name: 'x1',
  Instances: ['g0', 'g1'].map((ID) => ({ ID, Healthy: true, HealthDescription: '' })),
  Attributes: null,
} as const

/** Creates a machine of one of several types. */
export function makeMachine(random: RandomStream, number: number): Machine {
  const base = aNode()
  const cores = random.choose(2, 4)
  const address = `10.0.${Math.floor(number / 250)}.${(number % 250) + 1}`
  const [network] = base.NodeResources.NodeNetworks ?? []
  const Addresses = (network?.Addresses ?? []).map((one) => ({ ...one, Address: address }))
  return {
    settings: {
      Name: `node-${number}`,
      Region: 'global',
      Datacenter: random.choose('dc1', 'dc1', 'dc2'),
      NodePool: random.chance(0.9) ? 'default' : 'spare',
      NodeClass: random.choose('small', 'large'),
      HTTPAddr: `${address}:4646`,
      TLSEnabled: false,
      Meta: { rack: random.choose('r1', 'r2', 'r3') },
      ReservedResources: base.ReservedResources,
      HostVolumes: null,
    },
    fingerprint: {
      Attributes: { 'kernel.name': 'linux', 'unique.hostname': `node-${number}` },
      NodeResources: {
        ...base.NodeResources,
        Cpu: {
          CpuShares: cores * 1_000,
          TotalCpuCores: cores,
          ReservableCpuCores: Array.from({ length: cores }, (_, core) => core),
        },
        Memory: { MemoryMB: random.choose(2_048, 4_096) },
        Disk: { DiskMB: 10_000 },
        Devices: random.chance(0.3) ? [GPU] : null,
        NodeNetworks: network === undefined ? null : [{ ...network, Addresses }],
        // Few enough to run out.
        MinDynamicPort: 20_000,
        MaxDynamicPort: 20_010,
      },
    },
  }
}

/** Changes the attributes of the machine: its rack, or the health of a driver. */
export function changeRandomAttribute(random: RandomStream, node: SimNode): void {
  if (random.chance(0.5)) node.setRack(random.choose('r1', 'r2', 'r3'))
  else node.setDriverHealthy()
}
