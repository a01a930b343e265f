import { hammer, requestBytes } from '../attack-connection.ts'
import { direct, type Attack } from '../attack.ts'
import { connectionAttacks } from './connections.ts'
import { governanceAttacks } from './governance.ts'
import { nodeAttacks } from './nodes.ts'
import { requestAttacks } from './requests.ts'
import { sessionAttacks } from './sessions.ts'
import { taskAttacks } from './tasks.ts'

/** As busy as any attack, but on a server that is not Reeve: only the machine is shared. */
const control = direct(
  { name: 'control', summary: '64 connections to a bare server that is not Reeve' },
  async (assault) => {
    const request = requestBytes({ path: '/bytes/200' })
    await hammer(assault, () => request, { port: assault.target.barePort })
  },
)

/** In execution order; the control first, because the others are compared with it. */
export const attacks: readonly Attack[] = [
  control,
  ...requestAttacks,
  ...governanceAttacks,
  ...connectionAttacks,
  ...sessionAttacks,
  ...nodeAttacks,
  ...taskAttacks,
]

export const CONTROL = control.name
