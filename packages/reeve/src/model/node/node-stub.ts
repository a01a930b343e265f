import { AGENT_VERSION_ATTRIBUTE, type Node, type NodeStub } from '@reeve/contract'

/** A node without its secret: the form used outside of node authentication. */
export type PublicNode = Omit<Node, 'SecretID'>

export interface NodeStubOptions {
  /** `resources=true` */
  readonly resources?: boolean
  /** `os=true`: include the operating system's name. */
  readonly os?: boolean
}

export function nodeStub(node: PublicNode, options: NodeStubOptions = {}): NodeStub {
  const os = node.Attributes['os.name']
  return {
    ID: node.ID,
    Address: hostOf(node.HTTPAddr),
    Datacenter: node.Datacenter,
    Name: node.Name,
    NodePool: node.NodePool,
    NodeClass: node.NodeClass,
    Version: node.Attributes[AGENT_VERSION_ATTRIBUTE] ?? '',
    Drain: node.Drain,
    SchedulingEligibility: node.SchedulingEligibility,
    Status: node.Status,
    StatusDescription: node.StatusDescription,
    Drivers: node.Drivers,
    HostVolumes: node.HostVolumes,
    LastDrain: node.LastDrain,
    CreateIndex: node.CreateIndex,
    ModifyIndex: node.ModifyIndex,
    ...(options.os === true ? { Attributes: os === undefined ? {} : { 'os.name': os } } : {}),
    ...(options.resources === true
      ? { NodeResources: node.NodeResources, ReservedResources: node.ReservedResources }
      : {}),
  }
}

/** Returns the host of `host:port`, also of `[::1]:4646`. */
function hostOf(address: string): string {
  const colon = address.lastIndexOf(':')
  const host = colon === -1 ? address : address.slice(0, colon)
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}
