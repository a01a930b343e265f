import { randomUUID } from 'node:crypto'
import type { NodeRegistration } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { aNode } from '../test/build/index.ts'

/** The registration of a simulated machine. */
export function simulatedNode(name: string): NodeRegistration {
  const { NodeResources, ReservedResources } = aNode()
  return {
    ID: randomUUID(),
    Name: name,
    Datacenter: 'dc1',
    NodePool: 'default',
    NodeClass: '',
    HTTPAddr: '127.0.0.1:4646',
    TLSEnabled: false,
    Attributes: { 'kernel.name': 'linux', 'driver.mock': '1' },
    Meta: null,
    Links: null,
    NodeResources,
    ReservedResources,
    Drivers: { mock: MOCK },
    HostVolumes: null,
    HostNetworks: null,
    CgroupParent: '',
  }
}

const MOCK = {
  Attributes: null,
  Detected: true,
  Healthy: true,
  HealthDescription: '',
  UpdateTime: ZERO_TIME,
} as const
