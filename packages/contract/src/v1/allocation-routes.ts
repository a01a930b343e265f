import * as t from './shared-schemas.ts'
import { nodeRead, operate, collectGarbage, list, read, blockingRead, routes } from './define.ts'
import {
  Allocation,
  AllocationPauseRequest,
  AllocationPauseState,
  AllocationRestartRequest,
  AllocationSignalRequest,
  AllocationStopResponse,
  AllocationStub,
  EmptyObject,
} from './allocation.ts'
import { AllocationFailure } from './failure.ts'
import { AllocationUsage, CheckResult } from './client-stats.ts'
import { ServiceRegistration } from './service-registration.ts'

const unknownAllocation = t.textError('`Unknown allocation "<id>"`, or its node cannot be reached.')
const notUuid = t.textError('`alloc lookup failed: UUID must be 36 characters`')

export const allocationRoutes = routes('Allocations', {
  listAllocations: list('/allocations', {
    summary: 'List allocations.',
    cost: 2,
    query: {
      resources: t.FlagParameter('Include `AllocatedResources`.'),
      task_states: t.FlagParameter('Include the states of the tasks.', true),
    },
    returns: t.jsonResponse(
      t.Array(AllocationStub),
      'The allocations, oldest first, or by id with `prefix`.',
    ),
    errors: { 400: 'The prefix is not an even number of hex characters, or the filter is wrong.' },
    needs: 'namespace:read-job',
  }),
  readAllocation: blockingRead('/allocation/:alloc_id', {
    summary: 'Read one allocation, with its job.',
    returns: t.jsonResponse(Allocation, 'The allocation.'),
    answers: { 400: notUuid },
    errors: { 404: '`alloc not found`' },
    needs: 'namespace:read-job',
  }),
  stopAllocation: operate('/allocation/:alloc_id/stop', {
    summary: 'Stop an allocation and place another in its stead.',
    query: {
      no_shutdown_delay: t.FlagParameter('Skip the shutdown delays of group and tasks.'),
      reschedule: t.FlagParameter('Count it as a rescheduling.'),
    },
    returns: t.jsonResponse(AllocationStopResponse, 'An evaluation was made that will replace it.'),
    answers: { 400: notUuid },
    needs: 'namespace:alloc-lifecycle',
  }),
  listAllocationServices: blockingRead('/allocation/:alloc_id/services', {
    summary: 'List the services that an allocation registered.',
    returns: t.jsonResponse(t.Array(ServiceRegistration), 'The services.'),
    answers: { 400: notUuid },
    needs: 'namespace:read-job',
  }),
  readAllocationChecks: read('/allocation/:alloc_id/checks', {
    summary: 'Read the latest results of the health checks of an allocation.',
    returns: t.jsonResponse(t.MapOf(CheckResult), 'The results by check id.'),
    answers: { 400: notUuid, 504: t.nodeTimeout },
    needs: 'namespace:read-job',
  }),
  readAllocationFailure: read('/allocation/:alloc_id/failure', {
    summary: 'Read why an allocation fails, what it wrote last, what follows and what to do.',
    answeredBy: 'leader',
    cost: 2,
    returns: t.jsonResponse(AllocationFailure, 'The failure; null while nothing is wrong.'),
    answers: { 400: notUuid },
    needs: 'namespace:read-job',
  }),
  readClientAllocationChecks: read('/client/allocation/:alloc_id/checks', {
    summary: 'The same, asked of the node that runs the allocation.',
    answeredBy: 'leader',
    returns: t.jsonResponse(t.MapOf(CheckResult), 'The results by check id.'),
    answers: { 404: unknownAllocation, 504: t.nodeTimeout },
    needs: 'namespace:read-job',
  }),
  signalAllocation: operate('/client/allocation/:alloc_id/signal', {
    summary: 'Send a signal to a task of an allocation, or to all of them.',
    audit: 'always',
    body: AllocationSignalRequest,
    returns: t.jsonResponse(EmptyObject, 'The signal was sent.'),
    answers: { 404: unknownAllocation, 504: t.nodeTimeout },
    errors: { 400: 'The body is empty, the signal unknown, or the task unknown or not running.' },
    needs: 'namespace:alloc-lifecycle',
  }),
  restartAllocation: operate('/client/allocation/:alloc_id/restart', {
    summary: 'Restart the tasks of an allocation, or one of them, in place.',
    audit: 'always',
    body: AllocationRestartRequest,
    returns: t.jsonResponse(EmptyObject, 'The old processes have ended.'),
    answers: { 404: unknownAllocation, 504: t.nodeTimeout },
    errors: { 400: 'The task is unknown or not running, or the allocation has ended.' },
    needs: 'namespace:alloc-lifecycle',
  }),
  readAllocationStats: nodeRead('/client/allocation/:alloc_id/stats', {
    summary: 'Read what an allocation uses now.',
    query: { task: t.TextParameter('Only this task.') },
    returns: t.jsonResponse(AllocationUsage, 'The usage.'),
    answers: { 404: unknownAllocation, 504: t.nodeTimeout },
    needs: 'namespace:read-job',
  }),
  collectAllocation: collectGarbage('/client/allocation/:alloc_id/gc', {
    summary: 'Remove what an ended allocation left on its node.',
    returns: t.emptyResponse('It is removed.'),
    answers: { 404: unknownAllocation, 504: t.nodeTimeout },
    errors: { 400: '`No such allocation on client, or allocation not eligible for GC`' },
    needs: 'namespace:submit-job or namespace:gc-allocation',
  }),
  readAllocationPause: nodeRead('/client/allocation/:alloc_id/pause', {
    summary: 'Read whether the schedule of a task is overridden.',
    query: { task: t.String({ description: 'The task.' }) },
    returns: t.jsonResponse(
      AllocationPauseState,
      'The last override; `scheduled` when there is none.',
    ),
    answers: { 404: unknownAllocation, 504: t.nodeTimeout },
    errors: { 400: 'The task is unknown.' },
    needs: 'namespace:read-job',
  }),
  pauseAllocation: operate('/client/allocation/:alloc_id/pause', {
    summary: 'Pause a task of an allocation, run it, or give it back to its schedule.',
    audit: 'always',
    body: AllocationPauseRequest,
    returns: t.emptyResponse('The node has stored it. A process that has to end is being stopped.'),
    answers: { 404: unknownAllocation, 504: t.nodeTimeout },
    errors: {
      400: '`Not a valid task schedule state`, or the task is unknown, has ended or has no schedule.',
    },
    needs: 'namespace:submit-job or namespace:pause-allocation',
  }),
})
