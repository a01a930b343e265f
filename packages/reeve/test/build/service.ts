import type { AgentCheck, AgentService } from '../../src/agent/assignment.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'

/** The smallest service of an agent's assignment. */
export function aService(fields: Partial<AgentService> = {}): AgentService {
  return {
    Name: 'web',
    PortLabel: '',
    AddressMode: 'auto',
    Address: '',
    Tags: null,
    CanaryTags: null,
    Provider: 'service',
    TaskName: '',
    OnUpdate: 'require_healthy',
    Checks: null,
    ...fields,
  }
}

/** A check that opens a connection every ten seconds. */
export function aCheck(fields: Partial<AgentCheck> = {}): AgentCheck {
  return {
    Name: 'alive',
    Type: 'tcp',
    Command: '',
    Args: null,
    Path: '',
    Protocol: '',
    PortLabel: '',
    AddressMode: '',
    Interval: nsFromMs(10_000),
    Timeout: nsFromMs(2_000),
    InitialStatus: '',
    Method: '',
    Header: null,
    Body: '',
    TLSServerName: '',
    TLSSkipVerify: false,
    CheckRestart: null,
    TaskName: '',
    SuccessBeforePassing: 0,
    FailuresBeforeCritical: 0,
    OnUpdate: 'require_healthy',
    ...fields,
  }
}
