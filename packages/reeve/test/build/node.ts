import type { Node } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { anId } from './ids.ts'

/**
 * A ready node of 4,000 MHz, 8,192 MB memory, 100 GB disk and one address, with the driver of
 * `aTask`.
 */
export function aNode(fields: Partial<Node> = {}): Node {
  return {
    ID: anId('node', 1),
    Name: 'node-1',
    Datacenter: 'dc1',
    NodePool: 'default',
    NodeClass: '',
    ComputedClass: 'v1:1',
    Status: 'ready',
    StatusDescription: '',
    StatusUpdatedAt: 0,
    SchedulingEligibility: 'eligible',
    Drain: false,
    DrainStrategy: null,
    LastDrain: null,
    Attributes: { 'kernel.name': 'linux' },
    Meta: null,
    Links: null,
    NodeResources: {
      Cpu: { CpuShares: 4_000, TotalCpuCores: 4, ReservableCpuCores: [0, 1, 2, 3] },
      Processors: null,
      Memory: { MemoryMB: 8_192 },
      Disk: { DiskMB: 100_000 },
      Devices: null,
      NodeNetworks: [
        {
          Mode: 'host',
          Device: 'eth0',
          MacAddress: '',
          Speed: 1_000,
          Addresses: [
            {
              Family: 'ipv4',
              Alias: 'default',
              Address: '10.0.0.1',
              ReservedPorts: '',
              Gateway: '',
            },
          ],
        },
      ],
      Networks: null,
      MinDynamicPort: 20_000,
      MaxDynamicPort: 32_000,
    },
    ReservedResources: {
      Cpu: { CpuShares: 0, ReservedCpuCores: null },
      Memory: { MemoryMB: 0 },
      Disk: { DiskMB: 0 },
      Networks: { ReservedHostPorts: '' },
    },
    Resources: null,
    Reserved: null,
    Drivers: {
      raw_exec: {
        Attributes: null,
        Detected: true,
        Healthy: true,
        HealthDescription: '',
        UpdateTime: ZERO_TIME,
      },
    },
    HostVolumes: null,
    HostNetworks: null,
    CSIControllerPlugins: null,
    CSINodePlugins: null,
    CgroupParent: '',
    HTTPAddr: '10.0.0.1:4646',
    TLSEnabled: false,
    SecretID: '',
    Events: [],
    CreateIndex: 1,
    ModifyIndex: 1,
    ...fields,
  }
}

/** Nodes with their own IDs and names, all else alike. */
export function nodes(count: number, fields: Partial<Node> = {}): readonly Node[] {
  return Array.from({ length: count }, (_, i) =>
    aNode({ ID: anId('node', i + 1), Name: `node-${i + 1}`, ...fields }),
  )
}
